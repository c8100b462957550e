//! A table as Arrow's C stream in a capsule (the PyCapsule interface), which polars, pyarrow, duckdb and pandas read.
//!
//! The structures are those of Arrow's C data interface, field by field. Whoever gets one owns it and calls its `release`;
//! what it points to is owned by a box behind `private_data`.

use crate::columns::Column;
use pyo3::{prelude::*, types::PyCapsule};
use std::{
    ffi::{CString, c_char, c_int, c_void},
    ptr,
};

const NAME: &std::ffi::CStr = c"arrow_array_stream";
/// Arrow's flag for a column that may miss values.
const NULLABLE: i64 = 2;

#[repr(C)]
struct Schema {
    format: *const c_char,
    name: *const c_char,
    metadata: *const c_char,
    flags: i64,
    n_children: i64,
    children: *mut *mut Schema,
    dictionary: *mut Schema,
    release: Option<unsafe extern "C" fn(*mut Schema)>,
    private_data: *mut c_void,
}

#[repr(C)]
struct Array {
    length: i64,
    null_count: i64,
    offset: i64,
    n_buffers: i64,
    n_children: i64,
    buffers: *mut *const c_void,
    children: *mut *mut Array,
    dictionary: *mut Array,
    release: Option<unsafe extern "C" fn(*mut Array)>,
    private_data: *mut c_void,
}

#[repr(C)]
struct Stream {
    get_schema: Option<unsafe extern "C" fn(*mut Stream, *mut Schema) -> c_int>,
    get_next: Option<unsafe extern "C" fn(*mut Stream, *mut Array) -> c_int>,
    get_last_error: Option<unsafe extern "C" fn(*mut Stream) -> *const c_char>,
    release: Option<unsafe extern "C" fn(*mut Stream)>,
    private_data: *mut c_void,
}

/// What a schema owns.
struct SchemaParts {
    _format: CString,
    _name: CString,
    children: Vec<*mut Schema>,
}

/// What an array owns.
struct ArrayParts {
    _buffers: Vec<Vec<u8>>,
    pointers: Vec<*const c_void>,
    children: Vec<*mut Array>,
}

/// What a stream owns: the schema can be asked for any number of times, the rows come once.
struct Table {
    rows: usize,
    shapes: Vec<Shape>,
    columns: Option<Vec<Column>>,
}

/// The type of a column.
struct Shape {
    name: String,
    format: &'static str,
    items: Option<Box<Shape>>,
}

impl Shape {
    fn of(column: &Column) -> Shape {
        let items = column.items.as_deref().map(|items| Box::new(Shape::of(items)));
        Shape { name: column.name.clone(), format: column.format, items }
    }
}

/// A stream in its capsule. A capsule that nobody took the stream out of releases it.
pub(crate) fn capsule(py: Python<'_>, columns: Vec<Column>) -> PyResult<Py<PyCapsule>> {
    let rows = columns.first().map_or(0, |column| column.length);
    let shapes = columns.iter().map(Shape::of).collect();
    let table = Box::new(Table { rows, shapes, columns: Some(columns) });
    let stream = Owned(Stream {
        get_schema: Some(get_schema),
        get_next: Some(get_next),
        get_last_error: Some(get_last_error),
        release: Some(release_stream),
        private_data: Box::into_raw(table).cast(),
    });
    Ok(PyCapsule::new_with_value(py, stream, NAME)?.unbind())
}

/// A stream that is released when its capsule is dropped, unless it was taken.
#[repr(transparent)]
struct Owned(Stream);

// SAFETY: the stream owns everything behind its pointer, and nothing there belongs to a thread.
unsafe impl Send for Owned {}
// SAFETY: nothing is reached through a shared reference.
unsafe impl Sync for Owned {}

impl Drop for Owned {
    fn drop(&mut self) {
        if let Some(release) = self.0.release {
            // SAFETY: a stream with a `release` is whole.
            unsafe { release(&raw mut self.0) }
        }
    }
}

fn boxed_schema(name: &str, format: &str, flags: i64, children: Vec<Schema>) -> Schema {
    // No name of ours has a zero byte; one that had would lose what follows.
    let text = |text: &str| CString::new(text.replace('\0', "")).unwrap_or_default();
    let children = children.into_iter().map(|child| Box::into_raw(Box::new(child))).collect();
    let parts = Box::new(SchemaParts { _format: text(format), _name: text(name), children });
    let parts = Box::into_raw(parts);
    // SAFETY: it was just made, and lives until `release`.
    let owned = unsafe { &mut *parts };
    Schema {
        format: owned._format.as_ptr(),
        name: owned._name.as_ptr(),
        metadata: ptr::null(),
        flags,
        n_children: owned.children.len() as i64,
        children: owned.children.as_mut_ptr(),
        dictionary: ptr::null_mut(),
        release: Some(release_schema),
        private_data: parts.cast(),
    }
}

fn schema_of(shape: &Shape) -> Schema {
    let children = shape.items.as_deref().map(schema_of).into_iter().collect();
    boxed_schema(&shape.name, shape.format, NULLABLE, children)
}

fn boxed_array(length: usize, nulls: usize, buffers: Vec<Vec<u8>>, children: Vec<Array>) -> Array {
    let is_struct = buffers.is_empty();
    let mut pointers: Vec<*const c_void> =
        buffers.iter().map(|buffer| buffer.as_ptr().cast()).collect();
    if is_struct || nulls == 0 {
        // Nothing is missing: no buffer says so.
        match pointers.first_mut() {
            Some(first) => *first = ptr::null(),
            None => pointers.push(ptr::null()),
        }
    }
    let children = children.into_iter().map(|child| Box::into_raw(Box::new(child))).collect();
    let parts = Box::into_raw(Box::new(ArrayParts { _buffers: buffers, pointers, children }));
    // SAFETY: it was just made, and lives until `release`.
    let owned = unsafe { &mut *parts };
    Array {
        length: length as i64,
        null_count: nulls as i64,
        offset: 0,
        n_buffers: owned.pointers.len() as i64,
        n_children: owned.children.len() as i64,
        buffers: owned.pointers.as_mut_ptr(),
        children: owned.children.as_mut_ptr(),
        dictionary: ptr::null_mut(),
        release: Some(release_array),
        private_data: parts.cast(),
    }
}

fn array_of(column: Column) -> Array {
    let children = column.items.map(|items| array_of(*items)).into_iter().collect();
    boxed_array(column.length, column.nulls, column.buffers, children)
}

unsafe extern "C" fn get_schema(stream: *mut Stream, out: *mut Schema) -> c_int {
    // SAFETY: the caller has a live stream of ours and a place to write to.
    unsafe {
        let table = &*(*stream).private_data.cast::<Table>();
        let children = table.shapes.iter().map(schema_of).collect();
        out.write(boxed_schema("", "+s", 0, children));
    }
    0
}

unsafe extern "C" fn get_next(stream: *mut Stream, out: *mut Array) -> c_int {
    // SAFETY: as above.
    unsafe {
        let table = &mut *(*stream).private_data.cast::<Table>();
        match table.columns.take() {
            Some(columns) => {
                let children = columns.into_iter().map(array_of).collect();
                out.write(boxed_array(table.rows, 0, Vec::new(), children));
            }
            // An array without `release` ends the stream.
            None => ptr::write_bytes(out, 0, 1),
        }
    }
    0
}

unsafe extern "C" fn get_last_error(_: *mut Stream) -> *const c_char {
    ptr::null()
}

unsafe extern "C" fn release_stream(stream: *mut Stream) {
    // SAFETY: called once, by whoever owns the stream.
    unsafe {
        drop(Box::from_raw((*stream).private_data.cast::<Table>()));
        (*stream).release = None;
    }
}

unsafe extern "C" fn release_schema(schema: *mut Schema) {
    // SAFETY: called once, by whoever owns the schema; a child that was moved away has no `release`.
    unsafe {
        let parts = Box::from_raw((*schema).private_data.cast::<SchemaParts>());
        for &child in &parts.children {
            let mut child = Box::from_raw(child);
            if let Some(release) = child.release {
                release(&raw mut *child);
            }
        }
        (*schema).release = None;
    }
}

unsafe extern "C" fn release_array(array: *mut Array) {
    // SAFETY: as above.
    unsafe {
        let parts = Box::from_raw((*array).private_data.cast::<ArrayParts>());
        for &child in &parts.children {
            let mut child = Box::from_raw(child);
            if let Some(release) = child.release {
                release(&raw mut *child);
            }
        }
        (*array).release = None;
    }
}
