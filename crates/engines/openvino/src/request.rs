//! The owner of an inference request: inputs in, run, outputs and node times out.

use crate::{
    api::{Api, NodeInfos, copied},
    fault::Fault,
    tensor::Tensor,
};
use std::{ffi::c_void, ptr::null_mut};

/// The status of a node that took part in the run.
const EXECUTED: i32 = 2;

/// Something that can run.
pub(crate) struct Request {
    api: &'static Api,
    handle: *mut c_void,
}

/// A node's time as the plugin tells it.
#[derive(Debug, Clone)]
pub(crate) struct NodeReport {
    pub(crate) name: String,
    pub(crate) kind: String,
    pub(crate) micros: u64,
}

impl NodeReport {
    /// What makes it the same node in another run.
    pub(crate) fn key(&self) -> (String, String) {
        (self.name.clone(), self.kind.clone())
    }
}

impl Request {
    /// Takes over a request that OpenVINO has just made.
    pub(crate) fn new(api: &'static Api, handle: *mut c_void) -> Request {
        Request { api, handle }
    }

    /// Binds a tensor; OpenVINO shares it, so what is written to it later counts too.
    pub(crate) fn set_input(&mut self, index: usize, tensor: &Tensor) -> Result<(), Fault> {
        // SAFETY: request and tensor are alive; OpenVINO keeps its own reference to the tensor's memory.
        self.api.check(unsafe {
            let set = self.api.ov_infer_request_set_input_tensor_by_index;
            set(self.handle, index, tensor.handle())
        })
    }

    /// Runs and waits for the end.
    pub(crate) fn infer(&mut self) -> Result<(), Fault> {
        // SAFETY: the request is alive and nobody else uses it meanwhile, for it is borrowed mutably.
        self.api.check(unsafe { (self.api.ov_infer_request_infer)(self.handle) })
    }

    /// An output of the last run, without a copy.
    pub(crate) fn output(&self, index: usize) -> Result<Tensor, Fault> {
        let mut handle = null_mut();
        // SAFETY: the request is alive; the reference to the tensor that is written to the address is ours.
        self.api.check(unsafe {
            let output = self.api.ov_infer_request_get_output_tensor_by_index;
            output(self.handle, index, &raw mut handle)
        })?;
        Ok(Tensor::own(self.api, handle))
    }

    /// The nodes that ran, in their order.
    pub(crate) fn nodes(&self) -> Result<Vec<NodeReport>, Fault> {
        let mut list = NodeInfos { infos: null_mut(), size: 0 };
        // SAFETY: OpenVINO fills the list with `size` entries, whose texts live until the list is freed.
        unsafe {
            let read = self.api.ov_infer_request_get_profiling_info;
            self.api.check(read(self.handle, &raw mut list))?;
            let nodes = (0..list.size).filter_map(|i| {
                let info = &*list.infos.add(i);
                (info.status == EXECUTED).then(|| NodeReport {
                    name: copied(info.node_name),
                    kind: copied(info.node_type),
                    micros: u64::try_from(info.real_time).unwrap_or(0),
                })
            });
            let nodes = nodes.collect();
            (self.api.ov_profiling_info_list_free)(&raw mut list);
            Ok(nodes)
        }
    }
}

impl Drop for Request {
    fn drop(&mut self) {
        // SAFETY: we own the request and it is used no more.
        unsafe { (self.api.ov_infer_request_free)(self.handle) }
    }
}
