//! The neighbor test for eight candidates at a time with AVX2, found at run time. Same lists as the portable form.

use super::neighborhoods::Block;
use std::arch::x86_64::{
    __m256, _CMP_LT_OQ, _CMP_NGT_UQ, _mm256_add_ps, _mm256_andnot_ps, _mm256_cmp_ps, _mm256_loadu_ps,
    _mm256_loadu_si256, _mm256_movemask_ps, _mm256_mul_ps, _mm256_permutevar8x32_epi32, _mm256_set1_ps,
    _mm256_storeu_si256, _mm256_sub_ps,
};

/// For each mask of kept lanes the order that brings them to the front.
pub(crate) static FRONT: [[u32; 8]; 256] = {
    let mut table = [[0; 8]; 256];
    let mut mask = 0;
    while mask < 256 {
        let (mut lane, mut kept) = (0, 0);
        while lane < 8 {
            if mask >> lane & 1 == 1 {
                table[mask][kept] = lane;
                kept += 1;
            }
            lane += 1;
        }
        mask += 1;
    }
    table
};

/// Writes the indices of the candidates near the point (x, y, z, half radius) to the front of `out` and returns how many; None when f32
/// leaves a doubt about one of them.
#[target_feature(enable = "avx2")]
#[allow(unsafe_code, reason = "loads and stores of whole arrays of eight, whose lengths the types give")]
pub(super) fn near(point: [f32; 4], doubt: f32, block: &Block, out: &mut [u32; 8]) -> Option<usize> {
    let [x, y, z, half_radius] = point.map(|c| _mm256_set1_ps(c));
    // SAFETY: each pointer is to an array of eight 4-byte values; unaligned loads and stores are used.
    let load = |values: &[f32; 8]| -> __m256 { unsafe { _mm256_loadu_ps(values.as_ptr()) } };
    let dx = _mm256_sub_ps(load(block.x), x);
    let dy = _mm256_sub_ps(load(block.y), y);
    let dz = _mm256_sub_ps(load(block.z), z);
    let mean = _mm256_add_ps(load(block.half_radii), half_radius);
    let mean2 = _mm256_mul_ps(mean, mean);
    let r2 = _mm256_add_ps(_mm256_add_ps(_mm256_mul_ps(dx, dx), _mm256_mul_ps(dy, dy)), _mm256_mul_ps(dz, dz));
    let excess = _mm256_sub_ps(r2, mean2);
    let size = _mm256_andnot_ps(_mm256_set1_ps(-0.0), excess);
    let doubtful = _mm256_cmp_ps::<_CMP_NGT_UQ>(size, _mm256_mul_ps(mean2, _mm256_set1_ps(doubt)));
    if _mm256_movemask_ps(doubtful) != 0 {
        return None;
    }
    let mask = _mm256_movemask_ps(_mm256_cmp_ps::<_CMP_LT_OQ>(excess, _mm256_set1_ps(0.0))) as usize & 255;
    // SAFETY: as above.
    unsafe {
        let front = _mm256_loadu_si256(FRONT[mask].as_ptr().cast());
        let indices = _mm256_loadu_si256(block.indices.as_ptr().cast());
        _mm256_storeu_si256(out.as_mut_ptr().cast(), _mm256_permutevar8x32_epi32(indices, front));
    }
    Some(mask.count_ones() as usize)
}
