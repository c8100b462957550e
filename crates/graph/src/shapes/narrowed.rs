//! The same shapes in another number format, for a framework that converts a module by itself.

use super::Shapes;
use crate::DataType;
use types::Precision;

impl Shapes {
    /// What is known of each value where everything that the graph keeps in 32-bit floats is computed in this precision:
    /// bytes and lifetimes then are those of what really runs. In int8 only weights change, so nothing does here.
    #[must_use]
    pub fn narrowed(mut self, to: Precision) -> Shapes {
        let narrow = match to {
            Precision::Fp32 | Precision::Int8 | Precision::Stored => return self,
            Precision::Fp16 => DataType::Float16,
            Precision::Bf16 => DataType::Bfloat16,
        };
        self.replace(DataType::Float, narrow);
        self
    }

    fn replace(&mut self, from: DataType, to: DataType) {
        for value in self.values.values_mut().filter(|value| value.dtype == from) {
            value.dtype = to;
        }
        for body in self.bodies.values_mut().flatten() {
            body.shapes.replace(from, to);
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::{DataType, GraphBuilder, analyse_shapes, infer};
    use types::Precision;

    #[test]
    fn half_the_bits_are_half_the_bytes_and_the_same_operations() {
        let mut builder = GraphBuilder::new("g");
        let x = builder.input("x", DataType::Float, &[2.into(), 3.into()]);
        let ids = builder.input("ids", DataType::Int64, &[2.into()]);
        let relu = builder.node("Relu", &[&x], &[]);
        let picked = builder.node("Gather", &[&relu, &ids], &[]);
        let y = builder.node("Relu", &[&picked], &[]);
        builder.output("y", &y, DataType::Float, &[2.into(), 3.into()]);
        let model = builder.finish_model();
        let work = |precision| analyse_shapes(&model, &infer(&model, &[]).narrowed(precision)).work;
        let (wide, narrow) = (work(Precision::Fp32), work(Precision::Bf16));
        assert_eq!(narrow.flops, wide.flops);
        assert_eq!(narrow.bytes_written.0 * 2, wide.bytes_written.0);
        // The 16 bytes of two ids stay as they are.
        assert_eq!((narrow.bytes_read.0 - 16) * 2, wide.bytes_read.0 - 16);
        let peaks = [wide, narrow].map(|work| work.activation_peak.unwrap().0 - 16);
        assert_eq!(peaks[0], peaks[1] * 2);
        assert_eq!(work(Precision::Fp16), narrow);
        // Dynamic int8 turns weights into bytes; what lies between the layers stays as it is.
        assert_eq!(work(Precision::Int8), wide);
    }
}
