import type { Clock } from '../../platform/process/clock.ts';
import type { ProgressOutput } from '../output/progress-display.ts';
import type { AdminApi } from './admin-api.ts';
import type { Painter } from '../../platform/terminal/painter.ts';
import type { CtlExit } from './ctl-exits.ts';
import type { OutputFormat } from './output/view.ts';
import type { CtlArguments } from './ctl-options.ts';

/** Where a command writes its answer. */
export interface CtlOutput {
  write(text: string | Uint8Array): unknown;
  readonly isTTY?: boolean;
  readonly rows?: number;
  readonly columns?: number;
}

/** The surroundings of `slipway ctl`. */
export interface CtlIo {
  readonly stdout: CtlOutput;
  readonly stderr: ProgressOutput;
  readonly stdin: AsyncIterable<Uint8Array> & { readonly isTTY?: boolean };
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

/** The input of a command that needs no service. */
export interface LocalContext extends CtlIo {
  readonly args: CtlArguments;
  /** The words after the command's name. */
  readonly words: readonly string[];
  readonly output: OutputFormat;
  readonly painter: Painter;
  readonly program: CtlProgram;
}

/** The input of a command. */
export interface CtlContext extends LocalContext {
  readonly api: AdminApi;
  /** `null` unless the command runs repeatedly; `end` says that nothing can change after this run. */
  readonly watch: { end(): void } | null;
}

/** The name under which `slipway ctl` was started. */
export interface CtlProgram {
  /** For messages: `slipway ctl`, or `kubectl slipway`. */
  readonly name: string;
  /** Whether this is the plugin of kubectl, which goes through the cluster unless a URL is given. */
  readonly plugin: boolean;
  readonly version: string;
}

interface CommandUsage {
  /** One or two words, such as `task show`. */
  readonly name: string;
  /** The arguments, as the help shows them; default none. Words in capitals say what the shell completes: see `completion`. */
  readonly synopsis?: string;
  readonly summary: string;
  /** Fewest and most words after the name; default none. */
  readonly words?: readonly [number, number];
  /** Its options with their help; alternatives such as `a|b` and words such as FILE say what the shell completes. */
  readonly optionTexts?: ReadonlyArray<readonly [string, string]>;
  /** Whether `-o name` lists names. */
  readonly hasNames?: boolean;
  /** The help for the words after the name, instead of that of the command; `null` for none. */
  readonly helpFor?: (words: readonly string[], program: CtlProgram) => string | null;
}

/** A command that asks the service. */
export interface ServiceCommand extends CommandUsage {
  readonly isLocal?: false;
  run(context: CtlContext): Promise<CtlExit>;
}

/** A command that needs no service. */
export interface LocalCommand extends CommandUsage {
  readonly isLocal: true;
  run(context: LocalContext): Promise<CtlExit>;
}

/** One command of `slipway ctl`. */
export type CtlCommand = ServiceCommand | LocalCommand;
