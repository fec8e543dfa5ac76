#!/usr/bin/env node
import { join } from 'node:path';
import process from 'node:process';
import packageManifest from '../package.json' with { type: 'json' };
import { COMPLETE_COMMAND } from '../src/cli/completion/shell-scripts.ts';
import { systemClock } from '../src/platform/process/clock.ts';
import { keepAlive } from '../src/platform/process/keep-alive.ts';
import { interruptSignal, processCtlIo } from './compose/ctl.ts';
import { exitWhenWritten } from './compose/exit-when-written.ts';

const { version } = packageManifest;
const programDirectory = join(import.meta.dirname, '..');
const CTL = { name: 'slipway ctl', plugin: false, version };

/** The daemon reads the rules; the command line only passes the file on. */
async function problemsOfRules(path: string): Promise<readonly string[]> {
  const { readRulesFile } = await import('../src/localization/parse/offline/read-rules-file.ts');
  const read = await readRulesFile(path);
  return read.ok ? [] : read.error;
}

const signal = interruptSignal();
const [command = '', ...args] = process.argv.slice(2);
const io = { stdout: process.stdout, stderr: process.stderr };

// Each command loads only its own code: all of it takes half a second of processor time.
async function main(): Promise<number> {
  switch (command) {
    case COMPLETE_COMMAND: {
      const { answerShell } = await import('../src/cli/completion/run-completion.ts');
      const usageOf = async (name: string) => (await import('./compose/usage-of.ts')).usageOf(name);
      return await answerShell(args, processCtlIo(signal), CTL, usageOf);
    }
    case 'completion':
      return (await import('../src/cli/completion/run-completion.ts')).runCompletion(args, io);
    case 'ctl':
      return await (await import('../src/cli/ctl/ctl.ts')).runCtl(args, processCtlIo(signal), CTL);
    case 'dev': {
      const { runDev } = await import('../demo/dev.ts');
      return await runDev(args, { ...io, clock: systemClock, programDirectory, problemsOfRules, signal });
    }
    case 'export':
    case 'import':
      return await (await import('./compose/bundle.ts')).runBundleCommand(command, args, signal);
    case 'keygen':
      return await (await import('../src/cli/keygen/keygen.ts')).runKeygen(args, io);
    case 'manifest':
      return await (await import('./compose/manifest.ts')).writeManifest(args, signal);
    case 'parse':
      return await (await import('./compose/parse.ts')).parseOffline(args, signal);
    case 'restore': {
      const { runRestore } = await import('../src/daemon/backup/restore/run-restore.ts');
      return await runRestore(args, { ...io, clock: systemClock, signal });
    }
    case 'translations':
      return await (await import('./compose/evaluate.ts')).evaluateTranslations(args, signal);
    case 'verify':
      return await (
        await import('../src/cli/verify/verify.ts')
      ).runVerify(args, { ...io, env: process.env, signal });
    case '--version':
      process.stdout.write(`slipway ${version}\n`);
      return 0;
    case 'help':
    case '-h':
    case '--help': {
      const { renderSlipwayUsage } = await import('../src/cli/completion/programs.ts');
      process.stdout.write(renderSlipwayUsage());
      return 0;
    }
    default: {
      const { renderProgramProblem } = await import('../src/cli/completion/programs.ts');
      process.stderr.write(await renderProgramProblem(command));
      return 2;
    }
  }
}

await exitWhenWritten(await keepAlive(main), signal);
