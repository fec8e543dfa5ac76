import { processBounds } from '../process/container-processes.ts';
import { mkdtemp, rm, writeFile } from '../../../platform/files/file-changes.ts';
import { open } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { messageOf } from '../../../platform/errors.ts';
import { errorCode } from '../../../platform/files/error-code.ts';
import type { Clock } from '../../../platform/process/clock.ts';
import { usageError } from '../../../platform/terminal/usage-error.ts';
import { destinationKeys, type DestinationKeys } from '../container/destination-keys.ts';
import { createContainerParser, type ContainerParser } from '../process/container-parser.ts';
import {
  jsonPrinter,
  type ParsePrinter,
  addOutcome,
  emptyTotals,
  type ParseTotals,
  textPrinter,
} from './parse-printer.ts';
import { PARSE_EXITS, PARSE_USAGE, parseParseOptions, type ParseOptions } from './parse-options.ts';
import { addContainer, addUnits, emptyOverview, nextText, suggestedText } from './game-overview.ts';
import { createFieldGatherer } from './gather-fields.ts';
import { suggestRules } from './suggest-rules.ts';
import { listReleaseFiles, type ReleaseFile } from './release-files.ts';
import { readRulesFile, type RulesFile } from './read-rules-file.ts';
import { forEachConcurrently } from '../../../platform/process/concurrently.ts';
import type { ContainerOutcome, ParsedUnit } from '../container/parsed-container.ts';

interface ParseOutput {
  write(text: string, done?: (error?: Error | null) => void): unknown;
}

interface ParseIo {
  readonly stdout: ParseOutput;
  readonly stderr: ParseOutput;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

/**
 * Runs `slipway parse`: shows the text units of a file or of a release folder, without a daemon.
 *
 * @param argv the command line after `parse`
 * @returns one of {@link PARSE_EXITS}
 */
export async function runParse(argv: readonly string[], io: ParseIo): Promise<number> {
  const parsed = parseParseOptions(argv);
  if (!parsed.ok) {
    io.stderr.write(usageError('slipway parse', parsed.error));
    return PARSE_EXITS.usage;
  }
  if (parsed.value === 'help') {
    io.stdout.write(PARSE_USAGE);
    return PARSE_EXITS.ok;
  }
  const options = parsed.value;
  const rules = await readRulesFile(options.rules);
  if (!rules.ok) return refuse(io, rules.error);
  try {
    const files = await listReleaseFiles(options.path, options.destination, io.signal);
    if (!files.ok) return refuse(io, [files.error]);
    const { suggest } = options;
    const problem = suggest === null ? null : await reserve(suggest);
    if (problem !== null) return refuse(io, [`--suggest: ${problem}`]);
    const totals =
      suggest === null
        ? await printUnits(files.value, rules.value, options, io)
        : await writeRules(files.value, rules.value, { ...options, suggest }, io);
    return totals.errors > 0 ? PARSE_EXITS.unreadable : PARSE_EXITS.ok;
  } catch (error) {
    if (error instanceof OutputError) return outputFailed(io, error.cause);
    if (!io.signal.aborted) throw error;
    io.stderr.write('slipway parse: interrupted\n');
    return PARSE_EXITS.interrupted;
  }
}

async function printUnits(
  files: readonly ReleaseFile[],
  rules: RulesFile,
  { path, rules: rulesFile, json, limit }: ParseOptions,
  io: ParseIo,
): Promise<ParseTotals> {
  const startedAt = io.clock.monotonic();
  const printer = json ? jsonPrinter : textPrinter;
  const totals = emptyTotals();
  const overview = emptyOverview();
  const print = async (text: string): Promise<void> => {
    if (text !== '') await written(io.stdout, text, io.signal);
  };
  const sink = createSink(printer, totals, limit ?? Infinity, print);
  await parseAll(files, rules, io, {
    units: async (destination, units) => {
      addUnits(overview, destination, units);
      await sink.units(destination, units);
    },
    outcome: async (destination, outcome) => {
      addContainer(overview, destination, outcome, sink.unitsOf());
      await sink.outcome(destination, outcome);
    },
  });
  if (files.length > 1) await print(printer.overview(overview, 'TEXTS', nextText(path, rulesFile)));
  const { sourceScript } = rules.configuration;
  await print(printer.summary(totals, (io.clock.monotonic() - startedAt) / 1000, sourceScript));
  return totals;
}

/** Creates the file of rules before a parse that can take minutes. @returns why it cannot be written; `null` when it can */
async function reserve(path: string): Promise<string | null> {
  try {
    await writeFile(path, '', { flag: 'wx' });
    return null;
  } catch (error) {
    if (errorCode(error) === 'EEXIST') return `${path} exists; name a new file, or remove it`;
    return `${path} cannot be written: ${messageOf(error)}`;
  }
}

/** Writes a file of rules from all strings of a folder. An empty one does not stay where that fails. */
async function writeRules(
  files: readonly ReleaseFile[],
  { configuration, rules }: RulesFile,
  { path, json, suggest }: ParseOptions & { readonly suggest: string },
  io: ParseIo,
): Promise<ParseTotals> {
  const startedAt = io.clock.monotonic();
  const printer = json ? jsonPrinter : textPrinter;
  const totals = emptyTotals();
  const overview = emptyOverview();
  const gatherer = createFieldGatherer();
  const paths = new Map(files.map(({ destination, path: file }) => [destination, file]));
  let count = 0;
  const every = { ...rules, configuration: { ...rules.configuration, sourceScript: 'any' as const } };
  let ruleCount = 0;
  try {
    await parseAll(files, { configuration, rules: every }, io, {
      units: async (destination, units) => {
        count += units.length;
        addUnits(overview, destination, units);
        gatherer.units(destination, units);
        await Promise.resolve();
      },
      outcome: async (destination, outcome) => {
        addOutcome(totals, outcome, count);
        addContainer(overview, destination, outcome, count);
        count = 0;
        await gatherer.outcome(
          destination,
          outcome,
          async () => await readBeginning(paths.get(destination) ?? ''),
        );
      },
    });
    const suggested = suggestRules(gatherer.groups());
    ruleCount = suggested.count;
    await writeFile(suggest, suggested.text);
  } catch (error) {
    await rm(suggest, { force: true });
    throw error;
  }
  await written(io.stdout, printer.overview(overview, 'STRINGS', ''), io.signal);
  const seconds = (io.clock.monotonic() - startedAt) / 1000;
  await written(io.stdout, printer.summary(totals, seconds, every.configuration.sourceScript), io.signal);
  if (!json) await written(io.stdout, suggestedText(path, suggest, ruleCount), io.signal);
  return totals;
}

const BEGINNING_BYTES = 256 * 1024;

async function readBeginning(path: string): Promise<Buffer> {
  const file = await open(path, 'r');
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(BEGINNING_BYTES), 0, BEGINNING_BYTES, 0);
    return buffer.subarray(0, bytesRead);
  } finally {
    await file.close();
  }
}

async function parseAll(
  files: readonly ReleaseFile[],
  { configuration, rules }: RulesFile,
  { clock, signal }: ParseIo,
  sink: ContainerSink,
): Promise<void> {
  const scratchDirectory = await mkdtemp(join(tmpdir(), 'slipway-parse-'));
  const processes = Math.min(configuration.processes, Math.max(1, files.length));
  const parser = createContainerParser({
    ...processBounds(configuration),
    rules,
    processes,
    scratchDirectory,
    clock,
  });
  try {
    const keys = destinationKeys(
      () => files.values().map(({ destination }) => destination),
      configuration.stableNames,
    );
    await parseFiles({ files, keys, parser, processes }, sink, signal);
  } finally {
    parser.close();
    await rm(scratchDirectory, { recursive: true, force: true });
  }
}

function createSink(
  printer: ParsePrinter,
  totals: ParseTotals,
  limit: number,
  print: (text: string) => Promise<void>,
): ContainerSink & { readonly unitsOf: () => number } {
  let left = limit;
  let units = 0;
  let isFirst = true;
  return {
    unitsOf: () => units,
    units: async (destination, found) => {
      units += found.length;
      const shown = found.slice(0, left);
      left -= shown.length;
      totals.hidden += found.length - shown.length;
      if (shown.length === 0) return;
      const text = printer.units(destination, shown, isFirst);
      isFirst = false;
      await print(text);
    },
    outcome: async (destination, outcome) => {
      addOutcome(totals, outcome, units);
      const text = printer.outcome(destination, outcome, units, isFirst);
      units = 0;
      isFirst = true;
      await print(text);
    },
  };
}

/** The output did not take the text; the cause says why. */
class OutputError extends Error {}

/** A reader that has seen enough, as in `slipway parse DIR | head`, is not a failure. */
function outputFailed(io: ParseIo, cause: unknown): number {
  if (errorCode(cause) === 'EPIPE') return PARSE_EXITS.ok;
  io.stderr.write(`slipway parse: the output cannot be written: ${messageOf(cause)}\n`);
  return PARSE_EXITS.unreadable;
}

/** Resolves when the output took the text, so that a slow reader does not fill the memory. */
async function written(output: ParseOutput, text: string, signal: AbortSignal): Promise<void> {
  signal.throwIfAborted();
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const onAbort = (): void => reject(signal.reason as Error);
  signal.addEventListener('abort', onAbort, { once: true });
  output.write(text, (error) => {
    if (error === null || error === undefined) resolve();
    else reject(new OutputError('the output cannot be written', { cause: error }));
  });
  try {
    await promise;
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
}

function refuse(io: ParseIo, problems: readonly string[]): number {
  for (const problem of problems) io.stderr.write(`slipway parse: ${problem.replaceAll(/[\r\n]+/g, ' ')}\n`);
  return PARSE_EXITS.usage;
}

interface ContainerSink {
  /** At most 1,000 units of a container; the next ones come when it has taken them. */
  units(destination: string, units: readonly ParsedUnit[]): Promise<void>;
  outcome(destination: string, outcome: ContainerOutcome): Promise<void>;
}

/**
 * Parses files and hands over their units in the order of the files. A process that is ahead of its turn waits with its
 * first units, so that the memory does not grow with the files.
 *
 * @throws the reason of the signal; errors of the sink
 */
export async function parseFiles(
  {
    files,
    keys,
    parser,
    processes,
  }: {
    readonly files: readonly ReleaseFile[];
    readonly keys: DestinationKeys;
    readonly parser: ContainerParser;
    readonly processes: number;
  },
  sink: ContainerSink,
  signal: AbortSignal,
): Promise<void> {
  let last = Promise.resolve();
  await forEachConcurrently(files, processes, signal, async ({ path, destination }, either) => {
    const turn = last;
    const { promise, resolve } = Promise.withResolvers<void>();
    last = promise;
    try {
      const outcome = await parser.parse(
        { path, destination, destinationKey: keys.keyOf(destination) },
        async (units) => {
          await turn;
          await sink.units(destination, units);
        },
        either,
      );
      await turn;
      either.throwIfAborted();
      const ambiguity = keys.ambiguity(destination, outcome.format);
      const issues = ambiguity === null ? outcome.issues : [...outcome.issues, ambiguity];
      await sink.outcome(destination, { ...outcome, issues });
    } finally {
      resolve();
    }
  });
}
