"""The service over gRPC: ``agent.proto``, and what grpcio-tools generates from it."""
