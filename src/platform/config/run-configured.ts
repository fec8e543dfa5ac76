import { closeSync, constants, fstatSync, openSync, readSync } from 'node:fs';
import type { z } from 'zod';
import { describeConfiguration } from './configuration-key.ts';
import { parseFlags } from './flags.ts';
import { loadConfiguration, type LoadedConfiguration } from './load-configuration.ts';
import { renderConfiguration, renderConfigurationHelp } from './render-configuration.ts';

/** Exit code for a configuration that is refused. Source: sysexits.h, EX_CONFIG. */
export const EXIT_CONFIGURATION = 78;

const CONFIGURATION_MAX_BYTES = 1024 * 1024;

interface TextSink {
  write(text: string): unknown;
}

interface ConfiguredProgram<Schema extends z.ZodType> {
  readonly schema: Schema;
  readonly name: string;
  readonly argv: readonly string[];
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly stdout: TextSink;
  readonly stderr: TextSink;
  readonly readFile?: (path: string) => string;
  /**
   * Runs the program. May throw {@link ConfigurationProblems} for what only shows when it starts.
   *
   * @param read reads every source again, for programs that reload
   */
  readonly start: (
    loaded: LoadedConfiguration<z.output<Schema>>,
    read: () => ReturnType<typeof loadConfiguration<Schema>>,
  ) => Promise<void>;
}

/** Problems of a configuration that its schema cannot see, such as an unreadable key file. */
export class ConfigurationProblems extends Error {
  readonly problems: readonly string[];

  constructor(problems: readonly string[]) {
    super(problems.join('; '));
    this.name = 'ConfigurationProblems';
    this.problems = problems;
  }
}

/**
 * Runs a program with its configuration: answers `--help` and `--print-config`, prints every problem on a line of its
 * own to standard error, or starts it.
 *
 * @returns the exit code when the process is to end now (0 or {@link EXIT_CONFIGURATION}), `null` when it was started
 */
export async function runConfigured<Schema extends z.ZodType>(
  program: ConfiguredProgram<Schema>,
): Promise<number | null> {
  const { schema, name, argv, env, stdout, stderr } = program;
  if (parseFlags(argv, describeConfiguration(schema)).helpRequested) {
    stdout.write(renderConfigurationHelp(schema, name));
    return 0;
  }
  const readFile = program.readFile ?? readConfigurationFile;
  const read = (): ReturnType<typeof loadConfiguration<Schema>> =>
    loadConfiguration({ schema, name, argv, env, readFile });
  const loaded = read();
  if (!loaded.ok) return exitWithProblems(name, loaded.error, stderr);
  if (loaded.value.printRequested) {
    stdout.write(renderConfiguration(schema, loaded.value.config));
    return 0;
  }
  try {
    await program.start(loaded.value, read);
    return null;
  } catch (error) {
    if (error instanceof ConfigurationProblems) return exitWithProblems(name, error.problems, stderr);
    throw error;
  }
}

/** Prints problems, one line each. @returns {@link EXIT_CONFIGURATION} */
export function exitWithProblems(name: string, problems: readonly string[], stderr: TextSink): number {
  for (const problem of problems) stderr.write(`${name}: ${problem.replaceAll(/[\r\n]+/g, ' ')}\n`);
  return EXIT_CONFIGURATION;
}

/** Reads a configuration file of at most 1 MiB. @throws Error, also for anything but a regular file */
export function readConfigurationFile(path: string): string {
  const descriptor = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    if (!fstatSync(descriptor).isFile()) throw new Error('it is not a regular file');
    const buffer = Buffer.alloc(CONFIGURATION_MAX_BYTES + 1);
    let length = 0;
    for (;;) {
      const read = readSync(descriptor, buffer, length, buffer.length - length, null);
      length += read;
      if (length > CONFIGURATION_MAX_BYTES)
        throw new Error(`it is larger than ${CONFIGURATION_MAX_BYTES} bytes`);
      if (read === 0) break;
    }
    return new TextDecoder('utf-8', { fatal: true }).decode(buffer.subarray(0, length));
  } finally {
    closeSync(descriptor);
  }
}
