//! Moving-least-squares elasticity [MKN04] as corrected.
