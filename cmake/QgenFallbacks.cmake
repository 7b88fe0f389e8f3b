# Pinned source builds of the dependencies, for systems that lack one or have it too old.
include(FetchContent)
