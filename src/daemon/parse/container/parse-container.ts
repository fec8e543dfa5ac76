import { READ_LIMITS, type ReadLimits } from '../../formats/value-visitor.ts';
import type { ByteSource } from '../../formats/byte-source.ts';
import { FormatError } from '../../formats/format-error.ts';
import { SNIFFED_BYTES, sniffFormat } from '../../formats/sniff.ts';
import type { CompiledRule, CompiledRules } from '../rules/compile-rules.ts';
import { isTextFormat } from './collect-text.ts';
import {
  createOutcomeCollector,
  locationOf,
  MAX_DEPTH,
  tooDeep,
  type ContainerRun,
  type OutcomeCollector,
  type Part,
} from './container-run.ts';
import { parseArchive } from './parse-archive.ts';
import { parseFlatBuffer, parseSqlite } from './parse-tables.ts';
import { parseUnity } from './parse-unity.ts';
import { parseTextFile } from './parse-text.ts';
import type { ContainerOutcome, ParsedUnit } from './parsed-container.ts';
import { createUnitEmitter, type UnitEmitter } from './unit-emitter.ts';

/** The bytes and the names of a container. */
export interface Container {
  readonly source: ByteSource;
  readonly destination: string;
  /** The stable name of the destination. */
  readonly destinationKey: string;
  /** A folder for temporary files. */
  readonly scratchDirectory: string;
}

/** Largest container, in bytes. */
const MAX_CONTAINER_BYTES = 2 * 1024 * 1024 * 1024;

/**
 * Finds the text units of a container. Errors are part of the outcome.
 *
 * @param sendUnits takes the units in bounded batches, in the order of archive entry, object and position
 */
export async function parseContainer(
  { source, destination, destinationKey, scratchDirectory }: Container,
  rules: CompiledRules,
  sendUnits: (units: readonly ParsedUnit[]) => Promise<void>,
): Promise<ContainerOutcome> {
  const collector = createOutcomeCollector();
  const emitter = createUnitEmitter({ destinationKey, send: sendUnits, report: collector.report });
  return await visitContainer({ source, destination, scratchDirectory }, rules, { collector, emitter });
}

/** The parts of a run that take the texts of a container and its outcome. */
export interface ContainerReceivers {
  readonly collector: OutcomeCollector;
  readonly emitter: UnitEmitter;
  readonly limits?: ReadLimits;
}

/**
 * Hands over the texts of a container as they are found. Errors are part of the outcome.
 *
 */
export async function visitContainer(
  { source, destination, scratchDirectory }: Omit<Container, 'destinationKey'>,
  rules: Pick<CompiledRules, 'ruleFor' | 'secrets'>,
  { collector, emitter, limits = READ_LIMITS }: ContainerReceivers,
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
    return collector.outcome(hasText ? format : null);
  } catch (error) {
    if (!(error instanceof FormatError)) throw error;
    await emitter.flush();
    collector.report(locationOf(part, format), error);
    return collector.failure(format);
  }
}

/** Parses a file inside of the container. Its error costs only this file. */
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

/** A rule, and the format of a file by it. */
export interface FormatChoice {
  readonly rule: CompiledRule;
  readonly format: string;
}

/** The rule of a file and its format: as a rule names it, or as its bytes and its name show it. */
export function chooseFormat(
  { rules, destination }: Pick<ContainerRun, 'rules' | 'destination'>,
  part: Part,
): FormatChoice {
  const rule = part.given?.rule ?? rules.ruleFor(destination, part.entry);
  const wanted = part.given?.format ?? rule.format;
  if (wanted !== 'auto') return { rule, format: wanted };
  const head = part.source.read(0, Math.min(SNIFFED_BYTES, part.source.size));
  return { rule, format: sniffFormat(head, part.name) };
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
      run.skip('unknown_format');
      return false;
  }
}
