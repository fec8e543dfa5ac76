#!/usr/bin/env node
import process from 'node:process';
import {
  keepProcessSmall,
  preferSizeToSpeed,
  saveCompiledModules,
} from '../src/platform/process/process-memory.ts';

// Before the program is loaded: reading its modules alone would let the heap grow by some 30 MiB.
keepProcessSmall();
preferSizeToSpeed();
const { runOperator } = await import('./compose/operator.ts');
const code = await runOperator();
saveCompiledModules();
if (code !== null) process.exit(code);
