"""Serves a model file through the Chat Completions interface until standard input ends."""

import sys

import xllamacpp

params = xllamacpp.CommonParams()
params.model.path = sys.argv[1]
params.n_ctx = 8192
params.n_parallel = 1
params.cpuparams.n_threads = 2
params.warmup = False
params.sampling.seed = 1
server = xllamacpp.Server(params)
print("listening", server.listening_address, flush=True)
sys.stdin.read()
