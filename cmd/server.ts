#!/usr/bin/env node
import { flushCompileCache } from 'node:module';
import process from 'node:process';
import { runServer } from './compose/server.ts';

const code = await runServer();
// Node saves compiled code only when a process exits normally, which a killed one never does.
flushCompileCache();
if (code !== null) process.exit(code);
