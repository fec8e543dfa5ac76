import { visit } from 'jsonc-parser';

import { failure, success, type Result } from '../../../domain/result.ts';

/** The member with the address of the resources. */
const ROOT_MEMBER = 'AddressablesCatalogUrlRoot';

const OVERRIDES_MEMBER = 'OverrideConnectionGroups';

/** Deepest nesting that is read; the parser recurses. */
const MAX_DEPTH = 64;

interface Edit {
  readonly start: number;
  readonly end: number;
}

/**
 * Replaces every value of `AddressablesCatalogUrlRoot` at any depth, whatever its type, except `null`, and leaves every
 * other byte as it was: unknown fields, order, white space and the digits of numbers.
 *
 * @param text the document; a byte order mark is kept
 * @returns the new text, or one sentence that says why the document cannot be rewritten
 */
export function rewriteServerInfo(
  text: string,
  rewrite: {
    /** The new value, without trailing slash. */
    readonly root: string;
    /** Names of override groups that keep the root from upstream. */
    readonly keepOverrides: readonly string[];
  },
): Result<string, string> {
  const mark = text.startsWith('\ufeff') ? '\ufeff' : '';
  const json = text.slice(mark.length);
  if (nestingOf(json) > MAX_DEPTH) return failure(`the document is nested deeper than ${MAX_DEPTH} levels`);
  const found = findRoots(json, new Set(rewrite.keepOverrides));
  if (!found.ok) return found;
  const replacement = JSON.stringify(rewrite.root);
  const pieces: string[] = [mark];
  let copied = 0;
  for (const { start, end } of found.value) {
    pieces.push(json.slice(copied, start), replacement);
    copied = end;
  }
  pieces.push(json.slice(copied));
  return success(pieces.join(''));
}

interface Frame {
  /** The member of an object that is being read; for an array the member that holds it. */
  member: string | null;
  readonly isArray: boolean;
  /** Whether it is an override group, and whether its root stays as it is. */
  readonly isOverride: boolean;
  isKept: boolean;
  /** Where it begins if it is the value of a root member, otherwise `null`. */
  readonly rootStart: number | null;
  readonly editsBefore: number;
}

/** Finds the roots to replace, in the order of the text, without holding the document as a tree. */
function findRoots(json: string, keep: ReadonlySet<string>): Result<readonly Edit[], string> {
  const edits: Edit[] = [];
  const open: Frame[] = [];
  let errorAt: number | null = null;
  const begin = (isArray: boolean, offset: number): void => {
    const outer = open.at(-1);
    const member = outer?.member ?? null;
    const isOverride = !isArray && outer?.isArray === true && member === OVERRIDES_MEMBER;
    const held = isArray && outer?.isArray === false ? member : null;
    const rootStart = outer?.isArray === false && member === ROOT_MEMBER ? offset : null;
    open.push({ member: held, isArray, isOverride, isKept: false, rootStart, editsBefore: edits.length });
  };
  const end = (offset: number, length: number): void => {
    const closed = open.pop();
    if (closed === undefined) return;
    if (closed.isKept || closed.rootStart !== null) edits.length = closed.editsBefore;
    if (closed.rootStart !== null) edits.push({ start: closed.rootStart, end: offset + length });
  };
  visit(
    json,
    {
      onObjectBegin: (offset) => {
        begin(false, offset);
      },
      onArrayBegin: (offset) => {
        begin(true, offset);
      },
      onObjectEnd: end,
      onArrayEnd: end,
      onObjectProperty: (name) => {
        const frame = open.at(-1);
        if (frame !== undefined) frame.member = name;
      },
      onLiteralValue: (value, offset, length) => {
        const frame = open.at(-1);
        if (frame === undefined || frame.isArray) return;
        if (frame.member === ROOT_MEMBER && value !== null)
          edits.push({ start: offset, end: offset + length });
        if (frame.isOverride && frame.member === 'Name' && keep.has(String(value))) frame.isKept = true;
      },
      onError: (_, offset) => {
        errorAt ??= offset;
      },
    },
    { disallowComments: true, allowTrailingComma: false },
  );
  return errorAt === null
    ? success(edits)
    : failure(`the document is not JSON, from character ${String(errorAt)} on`);
}

/** Depth of brackets outside of strings; never less than the depth that a parser reaches. */
function nestingOf(json: string): number {
  let depth = 0;
  let deepest = 0;
  let inString = false;
  for (let i = 0; i < json.length; i += 1) {
    const character = json[i];
    if (inString) {
      if (character === '\\') i += 1;
      else if (character === '"') inString = false;
    } else if (character === '"') inString = true;
    else if (character === '[' || character === '{') deepest = Math.max(deepest, (depth += 1));
    else if (character === ']' || character === '}') depth -= 1;
  }
  return deepest;
}
