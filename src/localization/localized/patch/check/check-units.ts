import {
  isSamePart,
  type ContainerOutcome,
  type PartLocation,
} from '../../../parse/container/parsed-container.ts';
import { createOutcomeCollector, type OutcomeCollector } from '../../../parse/container/container-run.ts';
import { visitContainer } from '../../../parse/container/parse-container.ts';
import type { RuleLookup, CompiledRule } from '../../../parse/rules/compile-rules.ts';
import type { ByteSource } from '../../../../formats/byte-source.ts';
import type { ReadLimits } from '../../../../formats/value-visitor.ts';
import type { ContainerEdits } from '../edits/edit-tree.ts';
import type { FieldEdit } from '../../../../formats/patch/find-places.ts';

/** A patched container differs from what its edits say. */
export class SelfCheckError extends Error {
  readonly archiveEntry: string | null;
  readonly fieldPath: string | null;

  constructor(
    message: string,
    place: { readonly archiveEntry: string | null; readonly fieldPath: string | null },
  ) {
    super(message);
    this.name = 'SelfCheckError';
    this.archiveEntry = place.archiveEntry;
    this.fieldPath = place.fieldPath;
  }
}

interface CheckedContainer {
  readonly destination: string;
  readonly scratchDirectory: string;
  readonly before: ByteSource;
  readonly after: ByteSource;
  readonly limits: ReadLimits;
}

/**
 * Parses a container and its patched form with the same rules, and checks that every edited text reads back exactly, and
 * that every other string has its old text and its old place. The errors of both must also be the same.
 *
 * @throws SelfCheckError for the first difference
 */
export async function checkUnits(
  { before, after, destination, scratchDirectory, limits }: CheckedContainer,
  rules: RuleLookup,
  edits: ContainerEdits,
): Promise<{
  readonly editedUnits: number;
  readonly otherUnits: number;
}> {
  const expected = expectedTexts(edits);
  let [edited, other] = [0, 0];
  const pairs = new UnitPairs((left, right) => {
    if (left === null || right === null || !isSamePlace(left, right)) throw movedText(left, right);
    const target = expected.targetOf(left);
    if (target === null) other += 1;
    else edited += 1;
    if (right.text !== (target ?? left.text))
      throw otherText(right, target === null ? 'not edited' : 'edited');
  });
  const everyRule = everyText(rules);
  const parse = async (side: Side, source: ByteSource): Promise<ContainerOutcome> => {
    const collector = createOutcomeCollector();
    const outcome = await visitContainer(
      { source, destination, scratchDirectory },
      everyRule,
      withoutKeys(collector),
      {
        emit: (location, { fieldPath, sourceText: text }) => pairs.push(side, { location, fieldPath, text }),
        flush: async () => {
          await Promise.resolve();
        },
      },
      limits,
    );
    if (side === 'after' && outcome.status === 'failed') throw unreadable(outcome);
    pairs.end(side);
    return outcome;
  };
  const parsed = await Promise.all(
    [parse('before', before), parse('after', after)].map(async (parsing) => {
      try {
        return await parsing;
      } catch (error) {
        pairs.fail(error);
        throw error;
      }
    }),
  );
  checkOutcomes(parsed);
  if (edited !== edits.count) {
    const message = `${edited} of ${edits.count} edits were found again`;
    throw new SelfCheckError(message, { archiveEntry: null, fieldPath: null });
  }
  return { editedUnits: edited, otherUnits: other };
}

/** An edited text can be the key of its row, and then other rows can share it. The patch is still right. */
function withoutKeys(collector: OutcomeCollector): OutcomeCollector {
  return {
    ...collector,
    report: (location, error, fieldPath) => {
      if (error.code !== 'duplicate_unit_key') collector.report(location, error, fieldPath);
    },
  };
}

function unreadable({ issues }: ContainerOutcome): SelfCheckError {
  const reason = issues.at(-1);
  const message = `the patched container cannot be read: ${reason?.message ?? 'no reason is known'}`;
  return new SelfCheckError(message, reason ?? { archiveEntry: null, fieldPath: null });
}

function isSamePlace(left: PlacedText, right: PlacedText): boolean {
  return left.fieldPath === right.fieldPath && isSamePart(left.location, right.location);
}

function movedText(before: PlacedText | null, after: PlacedText | null): SelfCheckError {
  const text = before ?? after;
  const message =
    before === null
      ? 'the patched container has a text more than the official one'
      : 'the text is not found at its place in the patched container';
  return new SelfCheckError(message, placeOf(text));
}

function otherText(text: PlacedText, kind: 'edited' | 'not edited'): SelfCheckError {
  const message =
    kind === 'edited'
      ? 'the text of the edit does not read back exactly from the patched container'
      : 'a text without an edit has changed in the patched container';
  return new SelfCheckError(message, placeOf(text));
}

function placeOf(text: PlacedText | null): { archiveEntry: string | null; fieldPath: string | null } {
  return { archiveEntry: text?.location.archiveEntry ?? null, fieldPath: text?.fieldPath ?? null };
}

function checkOutcomes([before, after]: readonly ContainerOutcome[]): void {
  if (before === undefined || after === undefined) throw new Error('there are two outcomes');
  const nowhere = { archiveEntry: null, fieldPath: null };
  if (before.status !== after.status || before.format !== after.format) {
    const [reason] = after.issues;
    const message = `the patched container is ${after.status}, and the official one ${before.status}: ${reason?.message ?? 'no reason'}`;
    throw new SelfCheckError(message, reason ?? nowhere);
  }
  for (const [number, issue] of after.issues.entries()) {
    const old = before.issues[number];
    if (old?.code === issue.code && old.fieldPath === issue.fieldPath && isSamePart(old, issue)) continue;
    throw new SelfCheckError(
      `the patched container has an error that the official one has not: ${issue.message}`,
      issue,
    );
  }
  if (
    after.issues.length < before.issues.length ||
    JSON.stringify(after.skipped) !== JSON.stringify(before.skipped)
  ) {
    throw new SelfCheckError('the patched container is not read as the official one is', nowhere);
  }
}

/**
 * The same rules, by which every string is a unit. A target seldom has characters of the source script, so by the rules
 * themselves it would not be found again; and the strings beside the units must not change either.
 */
function everyText({ ruleFor, secrets }: RuleLookup): RuleLookup {
  const widened = new Map<CompiledRule, CompiledRule>();
  return {
    secrets,
    ruleFor: (destination, entry) => {
      const rule = ruleFor(destination, entry);
      const known = widened.get(rule) ?? {
        ...rule,
        hasSourceScript: () => true,
        isSelectedField: () => true,
        rowKeys: [],
      };
      widened.set(rule, known);
      return known;
    },
  };
}

interface ExpectedTexts {
  targetOf(text: PlacedText): string | null;
}

interface ExpectedPart {
  readonly location: PartLocation;
  readonly edits: readonly FieldEdit[];
  next: number;
  /** The targets by path; `null` while the texts come in the order of the edits, so that it is not needed. */
  byPath: ReadonlyMap<string, string> | null;
}

/** Looks up targets in the order of the container, with the edits of a part and of the parts around it in memory. */
function expectedTexts(edits: ContainerEdits): ExpectedTexts {
  const around: ExpectedPart[] = [];
  const partAt = (location: PartLocation): ExpectedPart => {
    for (let last = around.at(-1); last !== undefined; last = around.at(-1)) {
      if (isSame(last.location, location)) return last;
      // The texts of a file inside of a field come between those of the part around it.
      if (isAround(last.location, location)) break;
      around.pop();
    }
    const part = { location, edits: edits.at(location), next: 0, byPath: null };
    around.push(part);
    return part;
  };
  return { targetOf: ({ location, fieldPath }) => targetIn(partAt(location), fieldPath) };
}

function isSame(left: PartLocation, right: PartLocation): boolean {
  return left.archiveEntry === right.archiveEntry && left.pathId === right.pathId;
}

function isAround({ archiveEntry }: PartLocation, inner: PartLocation): boolean {
  if (inner.archiveEntry === null) return false;
  return archiveEntry === null || inner.archiveEntry.startsWith(`${archiveEntry}!/`);
}

function targetIn(part: ExpectedPart, fieldPath: string): string | null {
  const next = part.edits[part.next];
  if (next?.fieldPath === fieldPath) {
    part.next += 1;
    return next.target;
  }
  part.byPath ??= new Map(part.edits.map((edit) => [edit.fieldPath, edit.target]));
  return part.byPath.get(fieldPath) ?? null;
}

interface PlacedText {
  readonly location: PartLocation;
  readonly fieldPath: string;
  readonly text: string;
}

type Side = 'before' | 'after';

/** Texts of one side that wait for the other one. */
const MAX_AHEAD = 1000;

/** One promise for most texts, of which there can be millions. */
const DONE = Promise.resolve();

/** Brings the texts of two containers together, one by one, while both are parsed. */
class UnitPairs {
  readonly #queues = { before: new Queue(), after: new Queue() };
  readonly #compare: (before: PlacedText | null, after: PlacedText | null) => void;
  #error: { readonly cause: unknown } | null = null;

  /**
   * @param compare takes the next text of each side; `null` where a side has no more. Its error reaches the side whose text
   * came last, which passes it on to {@link UnitPairs.fail}
   */
  constructor(compare: (before: PlacedText | null, after: PlacedText | null) => void) {
    this.#compare = compare;
  }

  push(side: Side, text: PlacedText): Promise<void> {
    if (this.#error !== null) throw this.#error.cause;
    const queue = this.#queues[side];
    queue.add(text);
    this.#comparePairs();
    return queue.length > MAX_AHEAD ? queue.untilShort() : DONE;
  }

  end(side: Side): void {
    this.#queues[side].hasEnded = true;
    this.#comparePairs();
  }

  fail(cause: unknown): void {
    this.#error ??= { cause };
    this.#queues.before.reject(cause);
    this.#queues.after.reject(cause);
  }

  #comparePairs(): void {
    const { before, after } = this.#queues;
    while (before.length + after.length > 0 && before.isKnown && after.isKnown) {
      this.#compare(before.take(), after.take());
    }
    before.wake();
    after.wake();
  }
}

class Queue {
  hasEnded = false;
  #texts: PlacedText[] = [];
  #taken = 0;
  #waiting: PromiseWithResolvers<void> | null = null;

  get length(): number {
    return this.#texts.length - this.#taken;
  }

  /** Whether it is known that a text comes next, or that none does. */
  get isKnown(): boolean {
    return this.hasEnded || this.length > 0;
  }

  add(text: PlacedText): void {
    this.#texts.push(text);
  }

  take(): PlacedText | null {
    const text = this.#texts[this.#taken] ?? null;
    if (text === null) return null;
    this.#taken += 1;
    if (this.#taken === this.#texts.length) {
      this.#texts = [];
      this.#taken = 0;
    }
    return text;
  }

  untilShort(): Promise<void> {
    this.#waiting = Promise.withResolvers<void>();
    return this.#waiting.promise;
  }

  wake(): void {
    if (this.length > 0) return;
    this.#waiting?.resolve();
    this.#waiting = null;
  }

  reject(cause: unknown): void {
    this.#waiting?.reject(cause);
    this.#waiting = null;
  }
}
