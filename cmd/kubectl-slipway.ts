#!/usr/bin/env node
import process from 'node:process';
import packageManifest from '../package.json' with { type: 'json' };
import { runCtl } from '../src/cli/ctl/ctl.ts';
import { interruptSignal, processCtlIo } from './compose/ctl.ts';
import { exitWhenWritten } from './compose/exit-when-written.ts';

// `kubectl slipway ...` runs the program of this name that it finds in PATH.
const signal = interruptSignal();
const code = await runCtl(process.argv.slice(2), processCtlIo(signal), {
  name: 'kubectl slipway',
  plugin: true,
  version: packageManifest.version,
});
await exitWhenWritten(code, signal);
