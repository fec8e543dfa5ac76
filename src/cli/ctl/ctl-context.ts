import type { Clock } from '../../platform/process/clock.ts';
import type { ProgressOutput } from '../output/progress-display.ts';
import type { AdminApi } from './admin-api.ts';
import type { CtlExit } from './ctl-exits.ts';
import type { CtlArguments, SpecialOption } from './ctl-options.ts';

/** The surroundings of `slipway ctl`. */
export interface CtlIo {
  readonly stdout: { write(text: string | Uint8Array): unknown };
  readonly stderr: ProgressOutput;
  /** Standard input, for a body that is `-`. */
  readonly stdin: AsyncIterable<Uint8Array>;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly clock: Clock;
  /** Aborted by Ctrl-C. */
  readonly signal: AbortSignal;
}

/** The input of a command. */
export interface CtlContext extends CtlIo {
  readonly api: AdminApi;
  readonly args: CtlArguments;
  /** The words after the command's name. */
  readonly words: readonly string[];
  /** Whether to print the bytes of the service instead of text for people. */
  readonly json: boolean;
}

/** One command of `slipway ctl`. */
export interface CtlCommand {
  /** One or two words, such as `task show`. */
  readonly name: string;
  /** The arguments, as the help shows them. */
  readonly synopsis: string;
  readonly summary: string;
  /** Fewest and most words after the name. */
  readonly words: readonly [number, number];
  readonly options: readonly SpecialOption[];
  /** Help for the options. */
  readonly optionTexts: ReadonlyArray<readonly [string, string]>;
  /** @throws CtlFailure */
  run(context: CtlContext): Promise<CtlExit>;
}
