import { PARSE_ERROR_CODES } from '../../../contract/reports/parse-error-codes.ts';
import { FormatError } from '../../../formats/format-error.ts';
import { bytesSource, type ByteSource } from '../../../formats/byte-source.ts';
import { isNamedFormat } from '../../../formats/sniff.ts';
import type { ReadLimits } from '../../../formats/value-visitor.ts';
import type { CompiledRule, RuleLookup } from '../rules/compile-rules.ts';
import type { RuleFormat } from '../rules/parse-config.ts';
import type { ContainerOutcome, ParseIssue, PartLocation, SkipReason } from './parsed-container.ts';
import type { UnitEmitter } from './unit-emitter.ts';

const MAX_ISSUES = 1000;

/** UTF-16 code units of each string of a reported error; names in the container can be longer. */
const MAX_ISSUE_STRING = 1024;

export interface Part {
  readonly source: ByteSource;
  /** The destination, or the name of the entry; its extension helps to find the format. */
  readonly name: string;
  /** The path through archives, `!/` between levels; `null` for the container itself. */
  readonly entry: string | null;
  /** The same path with stable names; empty for the container itself. */
  readonly entryKey: string;
  readonly depth: number;
  /** The rule and the format for a file inside of a field; otherwise the rules and the bytes decide. */
  readonly given?: { readonly rule: CompiledRule; readonly format: RuleFormat };
}

/** Most files around a file: the usual path is archive, bundle, text asset, JSON. */
export const MAX_DEPTH = 4;

/** The error for a file that has more than {@link MAX_DEPTH} files around it. */
export function tooDeep(): FormatError {
  return new FormatError('nesting_too_deep', `files are nested in more than ${MAX_DEPTH} files`);
}

export interface ContainerScope {
  readonly destination: string;
  readonly rules: RuleLookup;
  readonly limits: ReadLimits;
  readonly scratchDirectory: string;
}

/** Takes what is wrong with a container, and what is not text. */
export interface IssueSink {
  /** Records an error that costs one part of the container. */
  readonly report: (location: PartLocation, error: FormatError, fieldPath?: string | null) => void;
  readonly skip: (reason: SkipReason, count?: number) => void;
}

export interface ContainerRun extends ContainerScope, IssueSink {
  readonly emitter: UnitEmitter;
  parsePart(part: Part): Promise<void>;
}

export interface OutcomeCollector extends IssueSink {
  /** @param format the format of the container itself; @param hasText whether the format can hold text */
  outcome(format: string, hasText: boolean): ContainerOutcome;
  /** The outcome when an error of the container itself is among those reported. */
  failure(format: string): ContainerOutcome;
}

export function createOutcomeCollector(): OutcomeCollector {
  const issues: ParseIssue[] = [];
  const skipped: Partial<Record<SkipReason, number>> = {};
  let isPartial = false;
  const count = (reason: SkipReason, by: number): void => {
    if (by > 0) skipped[reason] = (skipped[reason] ?? 0) + by;
  };
  return {
    report: (location, { code, message }, fieldPath = null) => {
      if (PARSE_ERROR_CODES[code].severity === 'error') isPartial = true;
      if (issues.length < MAX_ISSUES) {
        issues.push({
          ...location,
          archiveEntry: shortened(location.archiveEntry),
          fieldPath: shortened(fieldPath),
          code,
          message: shortened(message),
        });
      } else {
        count('errors_not_listed', 1);
      }
    },
    skip: (reason, by = 1) => {
      count(reason, by);
    },
    outcome: (format, hasText) => {
      const status = hasText ? (isPartial ? 'partial' : 'parsed') : 'unsupported';
      return { status, format: hasText || isNamedFormat(format) ? format : 'unknown', issues, skipped };
    },
    failure: (format) => ({ status: 'failed', format, issues, skipped }),
  };
}

/**
 * The names of a file inside of another one: the exact one and the stable one. `!/` inside of a name becomes `!%2F`, so that
 * an entry with such a name is not taken for an entry of an archive inside of the archive.
 */
export function nestedName(
  { entry, entryKey }: Part,
  name: string,
  key: string,
): { readonly entry: string; readonly entryKey: string } {
  return {
    entry: nestedEntry(entry, name),
    entryKey: nestedEntry(entry === null ? null : entryKey, key),
  };
}

/** The exact name of a file inside of another one, as {@link nestedName} makes it. */
export function nestedEntry(entry: string | null, name: string): string {
  const inner = escapeLevels(name);
  return entry === null ? inner : `${entry}!/${inner}`;
}

function escapeLevels(name: string): string {
  return name.includes('!') ? name.replaceAll('!%', '!%25').replaceAll('!/', '!%2F') : name;
}

/** The names of the files on the path that {@link nestedName} made. */
export function namesOnTheWay(entry: string): readonly string[] {
  return entry
    .split('!/')
    .map((name) => name.replaceAll(/!%(25|2F)/g, (_escape, code) => (code === '25' ? '!%' : '!/')));
}

/** The name of the file in a compressed file, which has no name of its own. */
export const COMPRESSED_ENTRY = 'content';

/** The file in a compressed file. Its format shows in its bytes, or in the name in front of `.gz`. */
export function compressedPart(part: Part, content: Uint8Array): Part {
  return {
    source: bytesSource(content),
    name: part.name.replace(/\.(?:gz|zz|zlib)$/i, ''),
    ...nestedName(part, COMPRESSED_ENTRY, COMPRESSED_ENTRY),
    depth: part.depth + 1,
  };
}

/** The name of a file inside of a field, which is an entry of the file around it. */
export function fieldFileName(pathId: bigint | null, fieldPath: string): string {
  return `${pathId ?? ''}/${fieldPath}`;
}

/**
 * The bytes of a file whose reader needs all of them in memory.
 *
 * @throws FormatError `container_limit_exceeded` before anything is read
 */
export function readWhole({ limits }: ContainerScope, { source }: Part): Buffer {
  if (source.size <= limits.entryBytes) return source.read(0, source.size);
  const message = `the file has ${source.size} bytes, and its format allows ${limits.entryBytes}`;
  throw new FormatError('container_limit_exceeded', message);
}

export function locationOf({ entry }: { readonly entry: string | null }, format: string): PartLocation {
  return { archiveEntry: entry, pathId: null, classId: null, format };
}

/** Runs a step that reads one part of a container; `null`, with a report, when the part cannot be read. */
export function attemptPart<Result>(
  issues: IssueSink,
  location: PartLocation,
  step: () => Result,
): Result | null {
  try {
    return step();
  } catch (error) {
    if (!(error instanceof FormatError)) throw error;
    issues.report(location, error);
    return null;
  }
}

function shortened<T extends string | null>(text: T): T | string {
  if (text === null || text.length <= MAX_ISSUE_STRING) return text;
  return `${text.slice(0, MAX_ISSUE_STRING - 1).toWellFormed()}…`;
}
