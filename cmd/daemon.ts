#!/usr/bin/env node
import process from 'node:process';
import { keepProcessSmall, saveCompiledModules } from '../src/platform/process/process-memory.ts';

// Before the program is loaded: reading its modules alone would let the heap grow by some 30 MiB.
keepProcessSmall();
const { runDaemon } = await import('./compose/daemon.ts');
const code = await runDaemon();
saveCompiledModules();
if (code !== null) process.exit(code);
