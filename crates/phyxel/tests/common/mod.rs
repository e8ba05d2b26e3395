//! Reading golden vectors.

use glam::{DMat3, DVec3};
use serde_json::Value;

/// A file of `tests/vectors`.
pub fn load(name: &str) -> Value {
    let path = format!("{}/tests/vectors/{name}.json", env!("CARGO_MANIFEST_DIR"));
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

pub fn number(value: &Value) -> f64 {
    value.as_f64().unwrap()
}

pub fn list(value: &Value) -> &Vec<Value> {
    value.as_array().unwrap()
}

pub fn numbers(value: &Value) -> Vec<f64> {
    list(value).iter().map(number).collect()
}

pub fn vector(value: &Value) -> DVec3 {
    DVec3::from_slice(&numbers(value))
}

pub fn vectors(value: &Value) -> Vec<DVec3> {
    list(value).iter().map(vector).collect()
}

/// Row-major rows.
pub fn matrix(value: &Value) -> DMat3 {
    let rows = vectors(value);
    DMat3::from_cols(rows[0], rows[1], rows[2]).transpose()
}

pub fn matrices(value: &Value) -> Vec<DMat3> {
    list(value).iter().map(matrix).collect()
}

/// Anything made of numbers, as one flat list.
pub trait Flat {
    fn flat(&self) -> Vec<f64>;
}

impl Flat for [f64] {
    fn flat(&self) -> Vec<f64> {
        self.to_vec()
    }
}

impl Flat for [DVec3] {
    fn flat(&self) -> Vec<f64> {
        self.iter().flat_map(|v| v.to_array()).collect()
    }
}

impl Flat for [DMat3] {
    fn flat(&self) -> Vec<f64> {
        self.iter().flat_map(|m| m.to_cols_array()).collect()
    }
}

/// Fails unless both agree to `tolerance` times the largest entry of what was expected.
#[track_caller]
pub fn assert_near<T: Flat + ?Sized>(what: &str, got: &T, want: &T, tolerance: f64) {
    let (got, want) = (got.flat(), want.flat());
    assert_eq!(got.len(), want.len(), "{what}: lengths differ");
    let largest = want.iter().fold(0.0_f64, |m, v| m.max(v.abs()));
    let error = got.iter().zip(&want).map(|(g, w)| (g - w).abs()).fold(0.0, f64::max);
    assert!(error <= tolerance * largest, "{what}: error {error:e} of {largest:e}");
}
