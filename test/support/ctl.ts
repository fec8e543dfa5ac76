import { Readable } from 'node:stream';
import { runCtl, type CtlProgram } from '../../src/cli/ctl/ctl.ts';
import { systemClock } from '../../src/platform/process/clock.ts';

/** The result of a run of `slipway ctl`. */
export interface CtlRun {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

/** Options of a run of `slipway ctl`. */
export interface CtlRunOptions {
  readonly env?: Readonly<Record<string, string>>;
  readonly stdin?: string;
  readonly signal?: AbortSignal;
  readonly program?: CtlProgram;
  /** Called with all that was written to standard output so far. */
  readonly onOutput?: (text: string) => void;
}

/** Runs `slipway ctl` in this process. */
export async function ctl(argv: readonly string[], options: CtlRunOptions = {}): Promise<CtlRun> {
  const out: Buffer[] = [];
  const err: string[] = [];
  const code = await runCtl(
    argv,
    {
      stdout: {
        write: (text) => {
          out.push(Buffer.from(text as string));
          options.onOutput?.(Buffer.concat(out).toString('utf8'));
        },
      },
      stderr: { write: (text) => err.push(text) },
      stdin: Readable.from([Buffer.from(options.stdin ?? '')]),
      env: options.env ?? {},
      clock: systemClock,
      signal: options.signal ?? new AbortController().signal,
    },
    options.program ?? { name: 'slipway ctl', plugin: false },
  );
  return { code, out: Buffer.concat(out).toString('utf8'), err: err.join('') };
}
