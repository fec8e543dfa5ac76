import type { RE2JS } from 're2js';
import { FormatError } from '../format-error.ts';
import { byteOffsets, type DecodedText } from '../text/decode-text.ts';
import { reportText, type ReadTarget } from '../text/report-text.ts';
import type { CompiledScript, ScriptGroup, ScriptPattern, ScriptSection } from './compile-script.ts';
import { unescapeText } from './script-escapes.ts';

/** A line, or several that belong together. Positions are UTF-16 code units of the text; `end` is in front of the line end. */
interface Line {
  readonly start: number;
  readonly end: number;
  readonly content: string;
  /** Where the next line begins. */
  readonly next: number;
}

interface Range {
  readonly start: number;
  readonly end: number;
}

type Found = ReadonlyMap<ScriptGroup, Range>;

interface LineMatch {
  readonly pattern: ScriptPattern;
  readonly found: readonly Found[];
}

/**
 * Reads the texts of a script: the field `line`, an array with an element for each line. Lines that are joined, and those of a
 * block, are one element: how many they are can change with their text. For each line, the first pattern that matches is used, with all its matches in the line. A match is an object
 * with the fields `text` and `name`, and with labels `speaker`, `scene` and `key`; the second one in line 3 is `line[3.2]`. A match without a text gives its speaker and its scene to the lines below it.
 *
 * @throws FormatError `container_limit_exceeded`, `script_invalid` for a quote that joins lines and is not closed, and for groups
 *   that overlap
 */
export function readScript(decoded: DecodedText, script: CompiledScript, target: ReadTarget): void {
  const { visitor } = target;
  visitor.field('line');
  visitor.beginArray();
  new ScriptReader(decoded, script, target).read();
  visitor.endArray();
}

interface BegunSection {
  readonly section: ScriptSection;
  readonly found: readonly Found[];
}

class ScriptReader {
  readonly #decoded: DecodedText;
  readonly #text: string;
  readonly #script: CompiledScript;
  readonly #target: ReadTarget;
  readonly #lineAt: (position: number, joins: boolean) => Line;
  #section: { readonly of: ScriptSection; readonly indent: number; readonly speaker: string } | null = null;
  /** The speaker of the lines behind a section that has ended. */
  #earlier: string | null = null;
  #context: { readonly speaker: string; readonly scene: string } = { speaker: '', scene: '' };
  #index = 0;

  constructor(decoded: DecodedText, script: CompiledScript, target: ReadTarget) {
    this.#decoded = decoded;
    this.#text = decoded.text;
    this.#script = script;
    this.#target = target;
    this.#lineAt = lineScanner(decoded, script.joins);
  }

  read(): void {
    const text = this.#text;
    for (let position = 0; position < text.length;) {
      const line = this.#nextLine(position);
      const match = this.#matchLine(line);
      if (match?.pattern.isBlock === true) {
        position = this.#readBlock(line, match);
        continue;
      }
      if (match?.found.some(hasText) === true) this.#report(match.found);
      else this.#skip();
      this.#take(match?.found[0]);
      this.#leaveSection();
      position = line.next;
    }
  }

  /** Reads the lines of a block as one text. @returns where the line behind it begins */
  #readBlock(first: Line, { pattern, found }: LineMatch): number {
    const range = found[0]?.get('text');
    let { next } = first;
    let last = range;
    while (next < this.#text.length) {
      const line = this.#nextLine(next);
      // A block ends where its section does; the section sees the line again then.
      if (this.#endsSection(line) || this.#beginsSection(line) !== null) break;
      const match = this.#firstMatch(line, this.#patterns());
      if (match?.pattern !== pattern) break;
      last = match.found[0]?.get('text') ?? last;
      ({ next } = line);
    }
    const joined = new Map(found[0]);
    if (range !== undefined && last !== undefined) joined.set('text', { start: range.start, end: last.end });
    this.#report([joined]);
    return next;
  }

  /** Follows the sections, and finds the pattern of a line. */
  #matchLine(line: Line): LineMatch | null {
    if (this.#section !== null) {
      const { of } = this.#section;
      const ends = this.#endsSection(line);
      if (!ends || of.end !== null) {
        const match = this.#firstMatch(line, of.patterns);
        if (ends) this.#endSection();
        return match;
      }
      this.#endSection();
      this.#leaveSection();
    }
    const begun = this.#beginsSection(line);
    if (begun === null) return this.#firstMatch(line, this.#script.patterns);
    const { section, found } = begun;
    if (!endsInside(section, line)) {
      this.#section = { of: section, indent: indentOf(line), speaker: this.#context.speaker };
    }
    return { pattern: section.begin, found };
  }

  #endSection(): void {
    this.#earlier = this.#section?.speaker ?? null;
    this.#section = null;
  }

  /** A speaker that a section has is not one of the lines behind it. */
  #leaveSection(): void {
    if (this.#earlier !== null) this.#context = { ...this.#context, speaker: this.#earlier };
    this.#earlier = null;
  }

  #patterns(): readonly ScriptPattern[] {
    return this.#section?.of.patterns ?? this.#script.patterns;
  }

  #beginsSection(line: Line): BegunSection | null {
    if (this.#section !== null || line.start === line.end) return null;
    for (const section of this.#script.sections) {
      const found = this.#findAll(section.begin, line);
      if (found.length > 0) return { section, found };
    }
    return null;
  }

  /** The next line. In a part that is left out, a quote joins no lines. */
  #nextLine(position: number): Line {
    return this.#lineAt(position, this.#section === null || this.#section.of.patterns.length > 0);
  }

  #endsSection(line: Line): boolean {
    if (this.#section === null) return false;
    const { of, indent } = this.#section;
    if (of.end !== null) return isFound(of.end, line.content);
    return line.content.trim() !== '' && indentOf(line) <= indent;
  }

  #firstMatch(line: Line, patterns: readonly ScriptPattern[]): LineMatch | null {
    if (line.start === line.end) return null;
    for (const pattern of patterns) {
      if (pattern.line !== null && !isFound(pattern.line, line.content)) continue;
      const found = this.#findAll(pattern, line);
      if (found.length > 0) return { pattern, found };
    }
    return null;
  }

  /** The matches of a pattern in a line, with its named groups. A group that took no part in the match is left out. */
  #findAll({ match, groups }: ScriptPattern, { content, start: shift }: Line): readonly Found[] {
    // Whether a pattern matches is found several times faster than where.
    if (!match.test(content)) return [];
    if (groups.size === 0) return [new Map()];
    const { elements } = this.#target.limits;
    const matcher = match.matcher(content);
    const all: Found[] = [];
    while (matcher.find()) {
      if (all.length === elements) {
        throw this.#failure('container_limit_exceeded', `a line has more than ${elements} matches`, shift);
      }
      const found = new Map<ScriptGroup, Range>();
      for (const [name, index] of groups) {
        const start = matcher.start(index);
        if (start >= 0) found.set(name, { start: shift + start, end: shift + matcher.end(index) });
      }
      all.push(found);
    }
    return all;
  }

  #failure(
    code: 'container_limit_exceeded' | 'script_invalid',
    message: string,
    position: number,
  ): FormatError {
    return new FormatError(code, message, byteOffsets(this.#decoded)(position));
  }

  #value(range: Range | undefined): string {
    return range === undefined
      ? ''
      : unescapeText(this.#text.slice(range.start, range.end), this.#script.escapes);
  }

  /** Keeps the scene for the lines below, and the speaker of a line without a text. */
  #take(found: Found | undefined): void {
    const { speaker, scene } = this.#context;
    this.#context = {
      speaker:
        found?.has('speaker') === true && !found.has('text') ? this.#value(found.get('speaker')) : speaker,
      scene: found?.has('scene') === true ? this.#value(found.get('scene')) : scene,
    };
  }

  #report(found: readonly Found[]): void {
    const index = this.#count();
    for (const [at, groups] of found.entries()) {
      this.#reportMatch(groups, at === 0 ? String(index) : `${index}.${at + 1}`);
    }
  }

  #reportMatch(groups: Found, element: string): void {
    const { visitor } = this.#target;
    const name = this.#value(groups.get('name'));
    // A name alone is that of the speaker of the lines below it.
    if (groups.has('name') && !groups.has('text')) this.#context = { ...this.#context, speaker: name };
    const own = this.#value(groups.get('speaker'));
    visitor.element(element);
    visitor.beginObject();
    this.#label('key', this.#value(groups.get('key')));
    this.#label('speaker', own || name || this.#context.speaker);
    this.#label('scene', this.#value(groups.get('scene')) || this.#context.scene);
    for (const [field, range] of this.#textsOf(groups)) {
      visitor.field(field);
      const found = { value: this.#value(range), start: range.start, end: range.end };
      reportText(this.#target, found, () => `line[${element}].${field}`);
    }
    visitor.endObject();
  }

  /** The groups that can be translated, in the order of the text: patches need it. */
  #textsOf(groups: Found): readonly (readonly ['name' | 'text', Range])[] {
    const [name, text] = [groups.get('name'), groups.get('text')];
    if (name === undefined) return text === undefined ? [] : [['text', text]];
    if (text === undefined) return [['name', name]];
    if (name.end <= text.start)
      return [
        ['name', name],
        ['text', text],
      ];
    if (text.end <= name.start)
      return [
        ['text', text],
        ['name', name],
      ];
    const message =
      'the groups "name" and "text" of a pattern have characters in common; use "speaker" for a name that is part of the text';
    throw this.#failure('script_invalid', message, Math.min(name.start, text.start));
  }

  #label(field: string, value: string): void {
    if (value === '') return;
    this.#target.visitor.field(field);
    this.#target.visitor.label(value.toWellFormed());
  }

  #skip(): void {
    this.#count();
    this.#target.visitor.other();
  }

  /** @returns the number of the line from 0 */
  #count(): number {
    const { elements } = this.#target.limits;
    this.#index += 1;
    if (this.#index <= elements) return this.#index - 1;
    throw new FormatError('container_limit_exceeded', `the script has more than ${elements} lines`);
  }
}

function hasText(found: Found): boolean {
  return found.has('text') || found.has('name');
}

function isFound(expression: RE2JS, content: string): boolean {
  return expression.test(content);
}

/** Whether a section ends in the line in which it begins, as `/* ... *\/` can. */
function endsInside({ begin, end }: ScriptSection, { content }: Line): boolean {
  if (end === null) return false;
  const matcher = begin.match.matcher(content);
  return matcher.find() && end.matcher(content.slice(matcher.end())).find();
}

function indentOf({ content }: Line): number {
  return /^[ \t]*/.exec(content)?.[0].length ?? 0;
}

/** Makes a function that finds the line at a position, which must be the beginning of one. */
function lineScanner(
  decoded: DecodedText,
  joins: CompiledScript['joins'],
): (position: number, mayJoin: boolean) => Line {
  const { text } = decoded;
  // The next feed and the next return, so that a text with only one kind is not searched to its end for each line.
  const feeds = nextOf(text, '\n');
  const returns = nextOf(text, '\r');
  const plainLine = (start: number): Line => {
    const end = Math.min(feeds(start), returns(start));
    const next = text.charAt(end) === '\r' && text.charAt(end + 1) === '\n' ? end + 2 : end + 1;
    return { start, end, content: text.slice(start, end), next: Math.min(next, text.length) };
  };
  if (joins === 'none') return plainLine;
  const isOpen = (line: Line, wasOpen: boolean): boolean =>
    joins === 'backslash' ? endsInBackslash(line, wasOpen) : isQuoteOpen(line, wasOpen);
  return (start, mayJoin) => {
    const line = plainLine(start);
    let open = mayJoin && isOpen(line, false);
    if (!open) return line;
    let last = line;
    while (open) {
      if (last.next === text.length) {
        if (joins === 'backslash') break;
        throw new FormatError('script_invalid', 'a quote is not closed', byteOffsets(decoded)(start));
      }
      last = plainLine(last.next);
      open = isOpen(last, true);
    }
    const { end, next } = last;
    return { start, end, content: text.slice(start, end), next };
  };
}

/** A function that finds a character at a rising position or behind it, or the end of the text. */
function nextOf(text: string, character: string): (position: number) => number {
  let found = -1;
  return (position) => {
    if (found < position) {
      const at = text.indexOf(character, position);
      found = at === -1 ? text.length : at;
    }
    return found;
  };
}

function endsInBackslash({ content }: Line, isContinued: boolean): boolean {
  // A comment does not continue.
  if (!isContinued && /^\s*[#!]/.test(content)) return false;
  let backslashes = 0;
  while (backslashes < content.length && content.charAt(content.length - 1 - backslashes) === '\\') {
    backslashes += 1;
  }
  return backslashes % 2 === 1;
}

/** Whether a quote is open at the end of a line. A comment outside of quotes that the line does not close ends the search. */
function isQuoteOpen({ content }: Line, wasOpen: boolean): boolean {
  let open = wasOpen;
  for (let at = 0; at < content.length; at += 1) {
    const character = content.charAt(at);
    if (character === '"') open = !open;
    else if (character === '\\' && open) at += 1;
    else if (character === '/' && !open && /[/*]/.test(content.charAt(at + 1))) {
      const close = content.charAt(at + 1) === '*' ? content.indexOf('*/', at + 2) : -1;
      if (close === -1) return false;
      at = close + 1;
    }
  }
  return open;
}
