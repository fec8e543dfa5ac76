import { READ_LIMITS, type ReadLimits } from '../../../formats/value-visitor.ts';
import {
  type ByteSource,
  bytesSource,
  NOT_A_FILE,
  openFile,
  type OpenFile,
} from '../../../formats/byte-source.ts';
import { FormatError } from '../../../formats/format-error.ts';
import { decompress, type Compression } from '../../../formats/gzip/compressed-file.ts';
import { endsAsZip } from '../../../formats/zip/zip-directory.ts';
import { isNamedFormat, SNIFFED_BYTES, sniffFormat } from '../../../formats/sniff.ts';
import type { CompiledRule, CompiledRules, RuleLookup } from '../rules/compile-rules.ts';
import { collectText } from './collect-text.ts';
import { decodedValue, encodingOf, isTextFormat, type TextFormat } from './text-formats.ts';
import {
  attemptPart,
  createOutcomeCollector,
  locationOf,
  MAX_DEPTH,
  tooDeep,
  type ContainerRun,
  type ContainerScope,
  type OutcomeCollector,
  type Part,
  compressedPart,
  readWhole,
  nestedName,
} from './container-run.ts';
import { parseFlatBuffer, parseSqlite } from './parse-tables.ts';
import { parseUnity } from './parse-unity.ts';
import {
  type ContainerOutcome,
  type ParsedUnit,
  joinKeyPath,
  failedContainer,
  repeatedName,
} from './parsed-container.ts';
import { createUnitEmitter, type UnitEmitter } from './unit-emitter.ts';
import { emitTexts } from './emit-texts.ts';
import { compareDestinations } from '../../../domain/release/destination.ts';
import { stableNames } from '../../../domain/text/stable-name.ts';
import { beginningOf } from '../../../formats/text/decode-text.ts';
import { openZip } from '../../../formats/zip/open-zip.ts';
import { messageOf } from '../../../platform/errors.ts';

interface VisitedContainer {
  readonly source: ByteSource;
  readonly destination: string;
  readonly scratchDirectory: string;
}

const MAX_CONTAINER_BYTES = 2 * 1024 * 1024 * 1024;

/**
 * Finds the text units of a container. Errors are part of the outcome.
 *
 * @param sendUnits takes the units in bounded batches, in the order of archive entry, object and position
 */
export async function parseContainer(
  {
    source,
    destination,
    destinationKey,
    scratchDirectory,
  }: VisitedContainer & { readonly destinationKey: string },
  rules: CompiledRules,
  sendUnits: (units: readonly ParsedUnit[]) => Promise<void>,
): Promise<ContainerOutcome> {
  const collector = createOutcomeCollector();
  const emitter = createUnitEmitter({ destinationKey, send: sendUnits, report: collector.report });
  return await visitContainer({ source, destination, scratchDirectory }, rules, collector, emitter);
}

/** Hands over the texts of a container as they are found. Errors are part of the outcome. */
export async function visitContainer(
  { source, destination, scratchDirectory }: VisitedContainer,
  rules: RuleLookup,
  collector: OutcomeCollector,
  emitter: UnitEmitter,
  limits: ReadLimits = READ_LIMITS,
): Promise<ContainerOutcome> {
  const run: ContainerRun = {
    destination,
    rules,
    limits,
    scratchDirectory,
    emitter,
    report: collector.report,
    skip: collector.skip,
    parsePart: async (part) => {
      await parseInnerPart(run, part);
    },
  };
  const part: Part = { source, name: destination, entry: null, entryKey: '', depth: 0 };
  let format = 'unknown';
  try {
    if (source.size > MAX_CONTAINER_BYTES) {
      throw new FormatError(
        'container_limit_exceeded',
        `the container has more than ${MAX_CONTAINER_BYTES} bytes`,
      );
    }
    const choice = chooseFormat(run, part);
    ({ format } = choice);
    const hasText = await parseAs(run, part, choice);
    await emitter.flush();
    return collector.outcome(format, hasText);
  } catch (error) {
    if (!(error instanceof FormatError)) throw error;
    await emitter.flush();
    collector.report(locationOf(part, format), error);
    return collector.failure(format);
  }
}

async function parseInnerPart(run: ContainerRun, part: Part): Promise<void> {
  let format = 'unknown';
  try {
    if (part.depth > MAX_DEPTH) throw tooDeep();
    const choice = chooseFormat(run, part);
    ({ format } = choice);
    await parseAs(run, part, choice);
  } catch (error) {
    if (!(error instanceof FormatError)) throw error;
    run.report(locationOf(part, format), error);
  }
}

interface FormatChoice {
  readonly rule: CompiledRule;
  readonly format: string;
}

/** The rule of a file and its format: as a rule names it, or as its bytes and its name show it. */
export function chooseFormat({ rules, destination }: ContainerScope, part: Part): FormatChoice {
  const rule = part.given?.rule ?? rules.ruleFor(destination, part.entry);
  const wanted = part.given?.format ?? rule.format;
  if (wanted !== 'auto') return { rule, format: wanted };
  const head = part.source.read(0, Math.min(SNIFFED_BYTES, part.source.size));
  const format = sniffEncoded(head, part.name, rule);
  // Programs that unpack themselves, and pictures of some games, have an archive behind them.
  const isZip = (format === 'unknown' || format === 'binary') && endsAsZip(part.source);
  return { rule, format: isZip ? 'zip' : format };
}

/** The format by the first bytes; those of a text in an encoding that only the rule knows show it when they are decoded. */
function sniffEncoded(head: Buffer, name: string, rule: CompiledRule): string {
  const format = sniffFormat(head, name);
  const encoding = encodingOf(rule);
  if (format !== 'unknown' || encoding === undefined || encoding === 'utf-16') return format;
  return sniffFormat(Buffer.from(beginningOf(head, encoding)), name);
}

/** Parses a file of a known format; returns whether the format can hold text. */
async function parseAs(run: ContainerRun, part: Part, { rule, format }: FormatChoice): Promise<boolean> {
  if (isTextFormat(format)) {
    await parseTextFile(run, part, rule, format);
    return true;
  }
  switch (format) {
    case 'zip':
      await parseArchive(run, part, rule);
      return true;
    case 'unity':
    case 'serialized':
      await parseUnity(run, part, rule);
      return true;
    case 'gzip':
    case 'zlib':
      await parseCompressed(run, part, format);
      return true;
    case 'sqlite':
      await parseSqlite(run, part, rule);
      return true;
    case 'flatbuffers':
      await parseFlatBuffer(run, part, rule);
      return true;
    case 'skip':
      run.skip('skipped_by_rule');
      return false;
    case 'binary':
      run.skip('binary');
      return false;
    default:
      run.skip(isNamedFormat(format) ? 'format_not_read' : 'unknown_format');
      return false;
  }
}

/** Parses a text file. @throws FormatError when the file as a whole cannot be read */
async function parseTextFile(
  run: ContainerRun,
  part: Part,
  rule: CompiledRule,
  format: TextFormat,
): Promise<void> {
  const { entryKey } = part;
  const decoded = decodedValue(readWhole(run, part), rule);
  const location = locationOf(part, format);
  const collected = collectText(decoded, format, rule, {
    limits: run.limits,
    reportPartError: (error, path) => {
      run.report(location, error, path);
    },
  });
  await emitTexts(
    { run, part, rule, location, keyPrefix: joinKeyPath([entryKey, '', '']), fieldPrefix: '' },
    collected,
  );
}

/** Parses the file in a compressed file. @throws FormatError when it cannot be decompressed */
async function parseCompressed(run: ContainerRun, part: Part, compression: Compression): Promise<void> {
  const content = decompress(readWhole(run, part), compression, run.limits);
  await run.parsePart(compressedPart(part, content));
}

/**
 * Parses the entries of a zip archive, in the order of their names. An entry that cannot be read costs only itself.
 *
 * @throws FormatError when the archive itself cannot be read
 */
async function parseArchive(run: ContainerRun, part: Part, rule: CompiledRule): Promise<void> {
  const archive = openZip(part.source, run.limits);
  const entries = archive.entries
    .filter(({ name }) => !name.endsWith('/'))
    .toSorted((left, right) => compareDestinations(left.name, right.name));
  const stable = stableNames(() => entries.values().map(({ name }) => name));
  for (const entry of entries) {
    const names = nestedName(part, entry.name, stable.keyOf(entry.name));
    // Before its data is read, so that an entry that a rule skips costs nothing.
    if (run.rules.ruleFor(run.destination, names.entry).format === 'skip') {
      run.skip('skipped_by_rule');
      continue;
    }
    if (stable.isAmbiguous(entry.name)) run.report(locationOf(names, 'zip'), repeatedName(entry.name));
    const bytes = attemptPart(run, locationOf(names, 'zip'), () =>
      archive.readEntry(entry, rule.password(names.entry) ?? undefined),
    );
    if (bytes === null) continue;
    await run.parsePart({ source: bytesSource(bytes), name: entry.name, ...names, depth: part.depth + 1 });
  }
}

export interface ContainerJob {
  readonly path: string;
  readonly destination: string;
  readonly destinationKey: string;
}

/** Parses a file. A file that cannot be read is an outcome, not an error. @param sendUnits takes the units in bounded batches */
export async function parseContainerFile(
  { path, ...container }: ContainerJob & { readonly scratchDirectory: string },
  rules: CompiledRules,
  sendUnits: (units: readonly ParsedUnit[]) => Promise<void>,
): Promise<ContainerOutcome> {
  let opened: OpenFile | null;
  try {
    opened = openFile(path);
  } catch (error) {
    return failedContainer('file_unreadable', messageOf(error));
  }
  if (opened === null) return failedContainer('file_unreadable', `it is ${NOT_A_FILE}`);
  using file = opened;
  return await parseContainer({ ...container, source: file.source }, rules, sendUnits);
}
