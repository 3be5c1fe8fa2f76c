training.3.o: /tmp/w/bt/units/computes/src/training.3.cpp \
 src/training/recall.cpp src/training/recall.hpp src/core/random.hpp \
 src/core/error.hpp src/training/without_replacement.hpp \
 src/training/relative_attention.cpp src/training/relative_attention.hpp \
 src/training/attention.hpp src/training/initial_weights.hpp \
 src/run/trials.hpp src/core/record.hpp src/core/undefined.hpp \
 src/training/parameter.hpp src/training/linear.hpp \
 src/training/product.hpp src/training/softmax.hpp \
 src/training/exponential.hpp src/training/packs.hpp src/training/s4d.cpp \
 src/training/s4d.hpp src/training/mixer.hpp src/models/blocks/s4d.hpp \
 src/training/activation.hpp src/models/activations.hpp \
 src/training/sequence_model.cpp src/training/sequence_model.hpp \
 src/training/attention_mixer.hpp src/training/skip_block.hpp \
 src/training/affine_norm.hpp src/training/norm.hpp \
 src/models/blocks/norms.hpp src/models/dropout.hpp \
 src/training/de_escalation.hpp src/training/cross_entropy.hpp \
 src/training/linear_attention.hpp src/training/mamba2.hpp \
 src/training/ssd.hpp src/training/skip_block.cpp src/training/ssd.cpp \
 src/models/blocks/state_space.hpp
src/training/recall.cpp:
src/training/recall.hpp:
src/core/random.hpp:
src/core/error.hpp:
src/training/without_replacement.hpp:
src/training/relative_attention.cpp:
src/training/relative_attention.hpp:
src/training/attention.hpp:
src/training/initial_weights.hpp:
src/run/trials.hpp:
src/core/record.hpp:
src/core/undefined.hpp:
src/training/parameter.hpp:
src/training/linear.hpp:
src/training/product.hpp:
src/training/softmax.hpp:
src/training/exponential.hpp:
src/training/packs.hpp:
src/training/s4d.cpp:
src/training/s4d.hpp:
src/training/mixer.hpp:
src/models/blocks/s4d.hpp:
src/training/activation.hpp:
src/models/activations.hpp:
src/training/sequence_model.cpp:
src/training/sequence_model.hpp:
src/training/attention_mixer.hpp:
src/training/skip_block.hpp:
src/training/affine_norm.hpp:
src/training/norm.hpp:
src/models/blocks/norms.hpp:
src/models/dropout.hpp:
src/training/de_escalation.hpp:
src/training/cross_entropy.hpp:
src/training/linear_attention.hpp:
src/training/mamba2.hpp:
src/training/ssd.hpp:
src/training/skip_block.cpp:
src/training/ssd.cpp:
src/models/blocks/state_space.hpp:
