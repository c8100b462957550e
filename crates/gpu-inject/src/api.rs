//! The functions of CUPTI that are used, found by name in whatever version the process has.

use crate::system::Library;
use std::{
    ffi::{CStr, c_char, c_void},
    mem::transmute,
};

/// What CUPTI answers; 0 is success.
pub(crate) type Answer = i32;
pub(crate) type RequestBuffer =
    extern "C" fn(buffer: *mut *mut u8, size: *mut usize, records: *mut usize);
pub(crate) type CompleteBuffer =
    extern "C" fn(context: *mut c_void, stream: u32, buffer: *mut u8, size: usize, used: usize);
pub(crate) type Callback =
    extern "C" fn(user: *mut c_void, domain: u32, id: u32, data: *const c_void);

macro_rules! functions {
    ($($(#[$doc:meta])* $need:ident $field:ident = $name:literal: fn($($argument:ty),*);)*) => {
        /// The functions; those that not every version has are optional.
        #[derive(Clone, Copy)]
        pub(crate) struct Api {
            $($(#[$doc])* pub(crate) $field: functions!(@type $need ($($argument),*)),)*
        }

        impl Api {
            /// Finds them; the name of the first that is missing otherwise.
            pub(crate) fn of(library: Library) -> Result<Api, &'static CStr> {
                Ok(Api { $($field: functions!(@find $need library $name ($($argument),*)),)* })
            }
        }
    };
    (@type needed ($($argument:ty),*)) => { unsafe extern "C" fn($($argument),*) -> Answer };
    (@type optional ($($argument:ty),*)) => { Option<unsafe extern "C" fn($($argument),*) -> Answer> };
    (@find needed $library:ident $name:literal ($($argument:ty),*)) => {{
        let address = $library.symbol($name).ok_or($name)?;
        // SAFETY: CUPTI declares this function with these arguments in all versions since 11.
        unsafe { transmute::<*mut c_void, unsafe extern "C" fn($($argument),*) -> Answer>(address) }
    }};
    (@find optional $library:ident $name:literal ($($argument:ty),*)) => {
        // SAFETY: as above.
        $library.symbol($name).map(|address| unsafe {
            transmute::<*mut c_void, unsafe extern "C" fn($($argument),*) -> Answer>(address)
        })
    };
}

functions! {
    needed version = c"cuptiGetVersion": fn(*mut u32);
    needed register = c"cuptiActivityRegisterCallbacks": fn(RequestBuffer, CompleteBuffer);
    needed enable = c"cuptiActivityEnable": fn(u32);
    needed disable = c"cuptiActivityDisable": fn(u32);
    needed flush = c"cuptiActivityFlushAll": fn(u32);
    needed next = c"cuptiActivityGetNextRecord": fn(*mut u8, usize, *mut *mut u8);
    /// Lets CUPTI use our clock.
    needed clock = c"cuptiActivityRegisterTimestampCallback": fn(extern "C" fn() -> u64);
    optional dropped = c"cuptiActivityGetNumDroppedRecords": fn(*mut c_void, u32, *mut usize);
    optional thread_kind = c"cuptiSetThreadIdType": fn(u32);
    optional set = c"cuptiActivitySetAttribute": fn(u32, *mut usize, *mut c_void);
    optional runtime_call = c"cuptiActivityEnableRuntimeApi": fn(u32, u8);
    optional driver_call = c"cuptiActivityEnableDriverApi": fn(u32, u8);
    optional call_name = c"cuptiGetCallbackName": fn(u32, u32, *mut *const c_char);
    optional words = c"cuptiGetResultString": fn(Answer, *mut *const c_char);
    optional subscribe = c"cuptiSubscribe": fn(*mut *mut c_void, Callback, *mut c_void);
    optional unsubscribe = c"cuptiUnsubscribe": fn(*mut c_void);
    optional enable_callback = c"cuptiEnableCallback": fn(u32, *mut c_void, u32, u32);
    optional node_number = c"cuptiGetGraphNodeId": fn(*mut c_void, *mut u64);
}

impl Api {
    /// What an answer means, in CUPTI's words.
    pub(crate) fn say(&self, answer: Answer) -> String {
        let mut text: *const c_char = std::ptr::null();
        if let Some(words) = self.words {
            // SAFETY: the pointer outlives the call; CUPTI's texts last for ever.
            unsafe { words(answer, &raw mut text) };
        }
        if text.is_null() {
            return format!("error {answer}");
        }
        // SAFETY: CUPTI's texts end in zero.
        let text = unsafe { CStr::from_ptr(text) };
        format!("{} ({answer})", text.to_string_lossy())
    }
}
