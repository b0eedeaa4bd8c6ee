// SPDX-License-Identifier: BSD-2-Clause
//
// A plugin in another language than C: the mandatory entries alone, declared by hand from the installed
// headers, and with no crate but std. Its table ends where its entries do; ferry fills in the rest.
//
//     rustc --crate-type cdylib -C panic=abort -o ferry_outside_rs.so plugin.rs

use std::alloc::{alloc_zeroed, dealloc, Layout};
use std::ffi::c_void;
use std::os::raw::{c_char, c_int};

const ENOMEM: c_int = -2;
const ENODEV: c_int = -3;
const EUNSUPPORTED: c_int = -4;
const F32: u32 = 0;
const HEADER: usize = 64; // before a block: how long it is

type Pointer = *mut c_void;

#[repr(C)]
#[derive(Clone, Copy)]
pub struct Ref {
    handle: Pointer,
    offset: u64,
}

#[repr(C)]
pub struct Host {
    struct_size: u32,
    abi_major: u32,
    abi_minor: u32,
    reserved: u32,
    error: unsafe extern "C" fn(c_int, *const c_char, ...) -> c_int,
}

#[repr(C)]
pub struct Descriptor {
    namesz: u32,
    descsz: u32,
    kind: u32,
    owner: [u8; 8],
    magic: u32,
    struct_size: u32,
    abi_major: u32,
    abi_minor: u32,
    min_host_minor: u32,
    sanitizer: u32,
    cpu_features: u32,
    reserved: u32,
    name: [u8; 32],
    version: [u8; 32],
    vendor: [u8; 64],
}

const fn text<const N: usize>(from: &[u8]) -> [u8; N] {
    let mut to = [0; N];
    let mut i = 0;
    while i < from.len() {
        to[i] = from[i];
        i += 1;
    }
    to
}

const SIZE: u32 = std::mem::size_of::<Descriptor>() as u32 - 20;

#[used]
#[no_mangle]
#[allow(non_upper_case_globals)]
#[link_section = ".note.ferry"]
pub static ferry_plugin: Descriptor = Descriptor {
    namesz: 6,
    descsz: SIZE,
    kind: 0x46525931,
    owner: text(b"ferry"),
    magic: 0x31595246,
    struct_size: SIZE,
    abi_major: 1,
    abi_minor: 0,
    min_host_minor: 0,
    sanitizer: 0,
    cpu_features: 0,
    reserved: 0,
    name: text(b"outside_rs"),
    version: text(b"1.0"),
    vendor: text(b"the author of the program"),
};

static mut HOST: *const Host = std::ptr::null();

unsafe fn fail(code: c_int, why: &'static [u8]) -> c_int {
    ((*HOST).error)(code, why.as_ptr() as *const c_char)
}

unsafe fn at(r: Ref) -> *mut u8 {
    (r.handle as *mut u8).add(r.offset as usize)
}

unsafe extern "C" fn device_count(_plugin: Pointer, out: *mut u32) -> c_int {
    *out = 1;
    0
}

unsafe extern "C" fn device_open(_plugin: Pointer, index: u32, out: *mut Pointer) -> c_int {
    if index != 0 {
        return fail(ENODEV, b"there is one device\0");
    }
    *out = std::ptr::addr_of!(HOST) as Pointer;
    0
}

unsafe extern "C" fn device_close(_dev: Pointer) {}

fn layout(bytes: usize) -> Option<Layout> {
    Layout::from_size_align(bytes.checked_add(HEADER)?, HEADER).ok()
}

unsafe extern "C" fn alloc(
    _dev: Pointer,
    _queue: Pointer,
    bytes: u64,
    _flags: u32,
    out: *mut Pointer,
    _out_flags: *mut u32,
) -> c_int {
    let base = match layout(bytes as usize) {
        Some(l) => alloc_zeroed(l),
        None => std::ptr::null_mut(),
    };
    if base.is_null() {
        return fail(ENOMEM, b"alloc_zeroed failed\0");
    }
    *(base as *mut u64) = bytes;
    *out = base.add(HEADER) as Pointer;
    0
}

unsafe extern "C" fn free(_dev: Pointer, _queue: Pointer, handle: Pointer) -> c_int {
    let base = (handle as *mut u8).sub(HEADER);
    if let Some(l) = layout(*(base as *const u64) as usize) {
        dealloc(base, l);
    }
    0
}

unsafe extern "C" fn memcpy(
    _dev: Pointer,
    _queue: Pointer,
    _kind: u32,
    dst: Ref,
    src: Ref,
    bytes: u64,
) -> c_int {
    std::ptr::copy(at(src), at(dst), bytes as usize);
    0
}

unsafe extern "C" fn memset(_: Pointer, _: Pointer, dst: Ref, byte: u32, bytes: u64) -> c_int {
    std::ptr::write_bytes(at(dst), byte as u8, bytes as usize);
    0
}

unsafe extern "C" fn axpy(
    _dev: Pointer,
    _queue: Pointer,
    dtype: u32,
    n: i64,
    alpha: f64,
    x: Ref,
    y: Ref,
) -> c_int {
    if dtype != F32 {
        return EUNSUPPORTED;
    }
    let (x, y) = (at(x) as *const f32, at(y) as *mut f32);
    for i in 0..n as usize {
        *y.add(i) += alpha as f32 * *x.add(i); // x may be y: no slices
    }
    0
}

unsafe extern "C" fn synchronize(_dev: Pointer) -> c_int {
    0
}

#[repr(C)]
pub struct Table {
    struct_size: u32,
    option_count: u32,
    options: usize,
    option_size: u32,
    reserved: u32,
    plugin: usize,
    device_count: unsafe extern "C" fn(Pointer, *mut u32) -> c_int,
    device_open: unsafe extern "C" fn(Pointer, u32, *mut Pointer) -> c_int,
    device_close: unsafe extern "C" fn(Pointer),
    alloc: unsafe extern "C" fn(Pointer, Pointer, u64, u32, *mut Pointer, *mut u32) -> c_int,
    free: unsafe extern "C" fn(Pointer, Pointer, Pointer) -> c_int,
    memcpy: unsafe extern "C" fn(Pointer, Pointer, u32, Ref, Ref, u64) -> c_int,
    memset: unsafe extern "C" fn(Pointer, Pointer, Ref, u32, u64) -> c_int,
    axpy: unsafe extern "C" fn(Pointer, Pointer, u32, i64, f64, Ref, Ref) -> c_int,
    synchronize: unsafe extern "C" fn(Pointer) -> c_int,
}

static TABLE: Table = Table {
    struct_size: std::mem::size_of::<Table>() as u32,
    option_count: 0,
    options: 0,
    option_size: 0,
    reserved: 0,
    plugin: 0,
    device_count,
    device_open,
    device_close,
    alloc,
    free,
    memcpy,
    memset,
    axpy,
    synchronize,
};

#[no_mangle]
pub unsafe extern "C" fn ferry_plugin_open(host: *const Host, out: *mut *const Table) -> c_int {
    HOST = host;
    *out = &TABLE;
    0
}
