"""The names that each ready-made taxonomy must have, typed from its source: no category is made up, and none is lost.

A dimension stands at the left with its kind, its categories below it, in the order of the document; a star marks a
category that only holds others.
"""

CHEN_2023 = """
symptom single
  Crash
  Incorrect functionality
  Build failure
  Poor performance
  Hang
  Unreported
root-cause single
  Incorrect algorithm implementation *
    DL-specific
    DL-irrelevant
  Type issue *
    Tensor
    Conventional
  Misconfiguration
  Tensor shape misalignment
  API misuse
    Condition missing/redundant
    API missing/redundant
    Wrong name
    Wrong arguments
    Wrong receiver
  Environment incompatibility
  Incorrect exception handling
    Missing
    Spurious
    Wrong message
  Incorrect assignment
  Numerical issue
  API incompatibility *
    External
    Internal
  Concurrency issue
  Dependent module issue
  Others
stage single
  Installation
  Preprocessing
  Training
  Deployment
  Utility operation
level single
  User-level API
  Graph-level
  Operation
  General utility
  Environment-dependent
"""
"""Chen et al. 2023, TOSEM, doi 10.1145/3587155: 6 symptoms, 13 root causes with sub-causes, 5 stages, 5 levels."""

YU_2025 = """
symptom single
  Crash
  Incorrect functionality
  Build failure
  Poor performance
  CI/CD error
  Hang
root-cause single
  API misuse
  Incorrect implementation
  Configuration error
  Precondition missing
  Allocation strategy error
  Distributed communication error
  Distributed tensor error
  Concurrency error
phase single
  Training
  Inference
challenge multi
  Disconnect between symptoms and root causes
  High bug reproduction costs
  Low-level or cross-component interactions
fix-strategy multi
  Conditional logic optimization
  Parameter handling enhancement
  Version compatibility handling
"""
"""Yu et al. 2025, arXiv 2506.10426: the last two dimensions hold what its abstract names of them."""

MA_2025 = """
stage single
  Communication setup
  Data and model preparation
  Inference
symptom single
  Setup failure
  Memory issue
  Performance anomaly
distributed-only boolean
fix-pattern multi
  Version and dependency management
  Distributed feature tuning
  Distributed API tuning
  Distributed communication tuning
"""
"""Ma et al. 2025, arXiv 2512.20345: of 34 symptoms three groups, of 6 fix patterns four, of 28 root causes none."""

LIU_2023 = """
issue-type single
  Fault
  How-to question
distributed-specific boolean
symptom single
  Package build and import *
    Installation and build failure
    Import error
  Communication setup *
    Setup failure
    Hang and timeout
    Unexpected protocol
  Data and model preparation *
    Communication error
    Download error
    Data loading failure
    Model loading failure
    Hang and timeout
    Iteration failure
    Attribute not found
    Low efficiency
    Data partition error
    Device error
    Path error
    Scope or context issue
    Logging error
    Compile model error
  Training and evaluation *
    Program failure *
      Attribute not found
      Device error
      Path error
      Segmentation fault
      Memory issue
      Communication error
      Graph execution error
      Out of memory
      Tensor mismatch
      Not implemented error
      Checkpoint unfunctioning
      Others
    Unexpected performance *
      Hang
      Non-convergence
      Unexpected parallelization
      Low efficiency
      Unexpected device
      Unexpected intermediate result
      Others
fix-pattern multi
  Fix communication configuration
  Fix dependency version
  Fix distributed API usage
  Fix framework version
  Fix device assignment
  Fix model construction
  Fix network setting
  Fix behavior logic
  Fix batch size or data partition
  Fix consistency between devices
  Save single-device model or weights only
  Fix dependency path
  Fix build or install configuration
  Fix memory or core setting
  Install missing dependency
  Change hardware
  Fix dependency installation
  Fix scope assignment
  Fix data type
  Fix dataset API usage
  Fix command line
  Fix learning rate
  Fix optimizer
  Fix framework installation
  Fix dataset
  Fix loss function
  Fix tensor API usage
  Reinstall framework in a fresh environment
  Fix package import
  Fix dataset download
  Fix output file path
  Fix metric usage
  Kill useless processes on servers
  Fix data shape
  Change packaging tool
  Fix package name
  Run Docker in privileged mode
  Fix seed setting
  Restart servers
  Use Docker
  Fix virtual environment name
  Clone third-party libraries
  Deallocate useless memory
  Fix evaluate generator
  Fix list appendance
  Name the model
  Use the first layer of the model
  Fix load weight function
  Disable checkpoint callback
  Use spawn mode in multiprocessing
  Fix hardware-accelerated GPU scheduling
  Fix tensor shape
  Fix cuDNN setting
  Fix num_worker
  Use tmux
  Fix IPython
  Fix dependency library usage
  Initialize placeholders
  Initialize variables
  Fix tensor initialization API usage
  Fix initialize method
  Fix function wrapping
  Fix data storage
  Fix evaluation code
  Fix data path
  Use buffer
  Rename metrics
  Fix inference API usage
  Fix model API usage
  Fix logger configuration
  Fix platform configuration
  Do not clear sessions
howto-topic single
  API usage
  Parallelization *
    Data parallelism
    Model parallelism
    Other parallelisms
  Communication *
    Algorithm
    Aggregation
    Configuration
    Backend
    Communitive operator
    Synchronization
  Performance *
    Efficiency and accuracy
    Performance profile
  Device usage *
    Configuration
    Support
    Memory and utilization
    Monitoring
    Device information
  Function support
    Elastic and fault tolerance
    Keras multi-GPU
    Horovod Docker TF1
  Model
  Evaluation
  Horovod build
  Framework source code
  Environment configuration
"""
"""Liu et al. 2023, TOSEM 32(6), doi 10.1145/3597204, by its data: gudiandian/TOSEM23-DistributedTraining @ 0ab3c07."""

NAMES = {"chen-2023": CHEN_2023, "liu-2023": LIU_2023, "ma-2025": MA_2025, "yu-2025": YU_2025}
