//! Adds two arrays. The crate `mx` is what tools/gen_rust.py writes; this file shows the wrapper that a binding puts on
//! top: owners that close their handle, and failures as `Result`.
use mx::*;
use std::ffi::CStr;

struct Array(mx_array);

impl Drop for Array {
    fn drop(&mut self) {
        unsafe { mx_array_free(self.0) };
    }
}

fn check(status: mx_status) -> Result<(), String> {
    if status == MX_OK {
        return Ok(());
    }
    let message = unsafe { CStr::from_ptr(mx_error_message()) };
    Err(message.to_string_lossy().into_owned())
}

impl Array {
    fn new(values: &[f32]) -> Result<Array, String> {
        let (mut out, dims) = (mx_array::default(), [values.len() as i64]);
        let n_bytes = std::mem::size_of_val(values);
        check(unsafe { mx_array_new(&mut out, values.as_ptr().cast(), n_bytes, dims.as_ptr(), 1, MX_FLOAT32) })?;
        Ok(Array(out))
    }

    fn add(&self, other: &Array) -> Result<Array, String> {
        let mut out = mx_array::default();
        check(unsafe { mx_add(&mut out, self.0, other.0, mx_stream::default()) })?;
        Ok(Array(out))
    }

    fn values(&self) -> Result<Vec<f32>, String> {
        let mut n = 0;
        check(unsafe { mx_array_size(&mut n, self.0) })?;
        let mut values = vec![0f32; n];
        check(unsafe { mx_array_read(values.as_mut_ptr().cast(), n * 4, self.0) })?;
        Ok(values)
    }
}

fn main() -> Result<(), String> {
    let a = Array::new(&[1.0, 2.0, 3.0])?;
    let sum = a.add(&a)?;
    // Any thread may use and drop what another made.
    let values = std::thread::spawn(move || sum.values()).join().unwrap()?;
    println!("{}", values.iter().map(|v| v.to_string()).collect::<Vec<_>>().join(" "));
    assert!(a.add(&Array::new(&[1.0, 2.0])?).is_err());
    Ok(())
}
