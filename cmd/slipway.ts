#!/usr/bin/env node
import { join } from 'node:path';
import process from 'node:process';
import packageManifest from '../package.json' with { type: 'json' };
import { answerShell, COMPLETE_COMMAND, runCompletion } from '../src/cli/completion/run-completion.ts';
import { renderProgramProblem, renderSlipwayUsage } from '../src/cli/completion/programs.ts';
import { runCtl } from '../src/cli/ctl/ctl.ts';
import { runKeygen } from '../src/cli/keygen/keygen.ts';
import { runVerify } from '../src/cli/verify/verify.ts';
import { systemClock } from '../src/platform/process/clock.ts';
import { interruptSignal, processCtlIo } from './compose/ctl.ts';
import { exitWhenWritten } from './compose/exit-when-written.ts';

const { version } = packageManifest;
const CTL = { name: 'slipway ctl', plugin: false, version };

/** The daemon reads the rules; the command line only passes the file on. */
async function problemsOfRules(path: string): Promise<readonly string[]> {
  const { readRulesFile } = await import('../src/localization/parse/offline/read-rules-file.ts');
  const read = await readRulesFile(path);
  return read.ok ? [] : read.error;
}

async function usageOf(program: string): Promise<string | null> {
  return (await import('./compose/usage-of.ts')).usageOf(program);
}

const signal = interruptSignal();
const [command = '', ...args] = process.argv.slice(2);
const io = { stdout: process.stdout, stderr: process.stderr };

// The programs that read game containers load native libraries: only their own commands need those.
async function main(): Promise<number> {
  switch (command) {
    case COMPLETE_COMMAND:
      return await answerShell(args, processCtlIo(signal), CTL, usageOf);
    case 'completion':
      return runCompletion(args, io);
    case 'ctl':
      return await runCtl(args, processCtlIo(signal), CTL);
    case 'dev': {
      const { runDev } = await import('../demo/dev.ts');
      const programDirectory = join(import.meta.dirname, '..');
      return await runDev(args, { ...io, clock: systemClock, programDirectory, problemsOfRules, signal });
    }
    case 'export':
      return await (await import('./compose/bundle.ts')).exportBundle(args, signal);
    case 'import':
      return await (await import('./compose/bundle.ts')).importBundle(args, signal);
    case 'keygen':
      return await runKeygen(args, io);
    case 'parse': {
      const { runParse } = await import('../src/localization/parse/offline/run-parse.ts');
      // Its writes report what is wrong with the output.
      process.stdout.on('error', () => undefined);
      return await runParse(args, { ...io, clock: systemClock, signal });
    }
    case 'restore': {
      const { runRestore } = await import('../src/daemon/backup/restore/run-restore.ts');
      return await runRestore(args, { ...io, clock: systemClock, signal });
    }
    case 'verify':
      return await runVerify(args, { ...io, env: process.env, signal });
    case '--version':
      process.stdout.write(`slipway ${version}\n`);
      return 0;
    case 'help':
    case '-h':
    case '--help':
      process.stdout.write(renderSlipwayUsage());
      return 0;
    default:
      process.stderr.write(renderProgramProblem(command));
      return 2;
  }
}

await exitWhenWritten(await main(), signal);
