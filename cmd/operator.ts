#!/usr/bin/env node
import { flushCompileCache } from 'node:module';
import process from 'node:process';
import { runOperator } from './compose/operator.ts';

const code = await runOperator();
// Node saves compiled code only when a process exits normally, which a killed one never does.
flushCompileCache();
if (code !== null) process.exit(code);
