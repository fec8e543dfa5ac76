#!/usr/bin/env node
import process from 'node:process';
import { keepYoungGenerationSmall } from '../src/platform/young-generation.ts';

// Before the program is loaded: reading its modules alone would let the heap grow by some 30 MiB.
keepYoungGenerationSmall();
const { runDaemon } = await import('./compose/daemon.ts');
const code = await runDaemon();
if (code !== null) process.exit(code);
