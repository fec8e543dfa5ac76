import { Readable } from 'node:stream';
import { runCtl } from '../../src/cli/ctl/ctl.ts';
import type { CtlProgram } from '../../src/cli/ctl/ctl-context.ts';
import { systemClock, type Clock } from '../../src/platform/process/clock.ts';

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
  /** Whether standard input and output are a terminal of this many lines. */
  readonly rows?: number;
  /** Width of that terminal. */
  readonly columns?: number;
  readonly clock?: Clock;
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
        ...(options.rows === undefined
          ? {}
          : {
              isTTY: true,
              rows: options.rows,
              ...(options.columns === undefined ? {} : { columns: options.columns }),
            }),
      },
      stderr: { write: (text) => err.push(text) },
      stdin: Object.assign(Readable.from([Buffer.from(options.stdin ?? '')]), {
        isTTY: options.rows !== undefined,
      }),
      env: options.env ?? {},
      clock: options.clock ?? systemClock,
      signal: options.signal ?? new AbortController().signal,
    },
    options.program ?? { name: 'slipway ctl', plugin: false, version: '1.2.3' },
  );
  return { code, out: Buffer.concat(out).toString('utf8'), err: err.join('') };
}
