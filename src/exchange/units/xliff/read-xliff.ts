import { createDocumentReader, XmlDocument, type XmlElement } from '../../xml/xml-reader.ts';
import { MAX_TEXT_CHARACTERS } from '../../../contract/formats/text-limit.ts';
import {
  type ReadResult,
  type UnitLanguages,
  type UnitReader,
  revisionOf,
  type UnitLocator,
  type UnitProblemReason,
} from '../unit-record.ts';
import { CODE_POINT_TYPE, XLIFF_ONE, XLIFF_ONE_ONE, XLIFF_TWO, OWN, OWN_PREFIX } from './xliff-names.ts';
import { readContext, readOwnValue } from './own-values.ts';
import { isCopiedState, isInitialState } from './xliff-states.ts';

type TextRole = 'source' | 'target' | 'note' | 'context';

interface OpenText {
  readonly role: TextRole;
  readonly element: XmlElement;
  depth: number;
  text: string;
  /** The number of a character, in a `ph` of ours. */
  codePoint: string | null;
}

const ONE_CONTAINERS = new Set(['file', 'body', 'group', 'trans-unit', 'context-group']);
/** The elements of each version that hold units or their parts, and whose contents are read. */
const CONTAINERS: Readonly<Record<string, ReadonlySet<string>>> = {
  [XLIFF_ONE]: ONE_CONTAINERS,
  [XLIFF_ONE_ONE]: ONE_CONTAINERS,
  [XLIFF_TWO]: new Set(['file', 'group', 'unit', 'notes', 'segment', 'ignorable']),
};
const NAMESPACES: ReadonlyMap<string, string> = new Map([
  ['1.1', XLIFF_ONE_ONE],
  ['1.2', XLIFF_ONE],
  ['2.0', XLIFF_TWO],
  ['2.1', XLIFF_TWO],
]);
const NAMESPACE_START = /^urn:oasis:names:tc:xliff:document:/;
const UNITS = new Set(['trans-unit', 'unit']);
/** Elements that only mark a part of a text: segments, terms, comments. */
const TRANSPARENT = new Set(['mrk', 'sm', 'em']);

/**
 * Makes a reader of XLIFF 1.1 and 1.2, and of XLIFF 2.0 and 2.1. Modules and extensions are left out. The texts of the segments of
 * a unit are joined. A unit with inline elements other than marks and characters is a problem, since its text would lose
 * them.
 */
export function createXliffReader(): UnitReader {
  const reader = createDocumentReader<ReadResult, XliffDocument>((line) => new XliffDocument(line));
  return { ...reader, languages: () => reader.document.languages };
}

class XliffDocument extends XmlDocument<ReadResult> {
  languages: Partial<UnitLanguages> = {};
  #version: string | null = null;
  #destination: string | null = null;
  #unit: UnitBuilder | null = null;
  #text: OpenText | null = null;
  /** Open elements whose contents are left out. */
  #skipped = 0;

  open(element: XmlElement): void {
    if (this.#version === null) this.#openRoot(element);
    else if (this.#skipped > 0) this.#skipped += 1;
    else if (this.#text !== null) this.#openInline(this.#text, element);
    else if (element.namespace !== this.#version) this.#skipped = 1;
    else if (this.#unit !== null && isText(element.name)) {
      this.#text = { role: element.name, element, depth: 0, text: '', codePoint: null };
    } else if (CONTAINERS[this.#version]?.has(element.name) === true) this.#openContainer(element);
    else this.#skipped = 1;
  }

  text(part: string): void {
    const text = this.#text;
    if (text === null || this.#skipped > 0) return;
    if (text.codePoint !== null) text.codePoint = (text.codePoint + part).slice(0, 16);
    else text.text += part;
    if (text.text.length > MAX_TEXT_CHARACTERS) {
      this.refuse('limit_exceeded', `a text has more than ${MAX_TEXT_CHARACTERS} characters`);
    }
  }

  close(name: string): void {
    const text = this.#text;
    if (this.#skipped > 0) {
      this.#skipped -= 1;
    } else if (text === null) {
      if (UNITS.has(name)) this.#finishUnit();
    } else if (text.depth > 0) {
      text.depth -= 1;
      if (text.codePoint !== null) text.text += this.characterOf(text.codePoint);
      text.codePoint = null;
    } else {
      this.#unit?.take(text.role, text.text, text.element.attributes);
      this.#text = null;
    }
  }

  #openRoot({ name, namespace, attributes }: XmlElement): void {
    if (name !== 'xliff') {
      this.refuse('structure_invalid', `the document is ${JSON.stringify(name.slice(0, 40))}, not xliff`);
    }
    const version = attributes.get('version') ?? namespace.replace(NAMESPACE_START, '');
    // The standard gives 2.0 and 2.1 one namespace, and 2.2 one of its own.
    const isKnown =
      namespace === XLIFF_TWO ? /^2\.[01]$/.test(version) : Object.hasOwn(CONTAINERS, namespace);
    if (!isKnown) {
      const expected = NAMESPACES.get(version);
      if (expected !== undefined && namespace !== expected) {
        const found = namespace === '' ? 'none' : JSON.stringify(namespace.slice(0, 80));
        this.refuse(
          'structure_invalid',
          `the namespace of XLIFF ${version} is "${expected}", and the document has ${found}; write xmlns="${expected}"`,
        );
      }
      const name = version === '' ? 'XLIFF without a version' : `XLIFF ${version.slice(0, 20)}`;
      const where = `in the namespace ${JSON.stringify(namespace.slice(0, 80))}`;
      this.refuse(
        'structure_invalid',
        `the document is ${name}, ${where}; versions 1.1, 1.2, 2.0 and 2.1 are read, so save it as one of these`,
      );
    }
    this.#version = namespace;
    this.languages = languagesOf(attributes.get('srcLang'), attributes.get('trgLang'));
  }

  #openContainer(element: XmlElement): void {
    const { name, attributes } = element;
    if (name === 'file') this.#openFile(attributes);
    if (UNITS.has(name)) {
      if (this.#unit !== null) this.refuse('structure_invalid', 'a unit is within a unit');
      this.#unit = new UnitBuilder(element, this.#destination);
    }
    if (name === 'segment' || name === 'ignorable') {
      if (this.#unit === null) this.refuse('structure_invalid', 'a segment is outside of a unit');
      this.#unit.beginSegment(name === 'segment', attributes);
    }
  }

  #openFile(attributes: XmlElement['attributes']): void {
    this.#destination = attributes.get('original') ?? null;
    if (this.#version === XLIFF_TWO) return;
    this.languages = languagesOf(attributes.get('source-language'), attributes.get('target-language'));
  }

  #openInline(text: OpenText, { name, namespace, attributes }: XmlElement): void {
    text.depth += 1;
    const isOwn = namespace === this.#version;
    if (isOwn && name === 'cp') text.text += this.characterOf(attributes.get('hex') ?? '');
    else if (isOwn && name === 'ph' && attributes.get('ctype') === CODE_POINT_TYPE) text.codePoint = '';
    else if (!isOwn || !TRANSPARENT.has(name)) this.#unit?.refuseInline(name);
  }

  #finishUnit(): void {
    if (this.#unit !== null) this.add(this.#unit.finish());
    this.#unit = null;
  }
}

function isText(name: string): name is TextRole {
  return name === 'source' || name === 'target' || name === 'note' || name === 'context';
}

function languagesOf(source: string | undefined, target: string | undefined): Partial<UnitLanguages> {
  return {
    ...(source === undefined ? {} : { sourceLanguage: source }),
    ...(target === undefined ? {} : { targetLanguage: target }),
  };
}

interface Segment {
  readonly isSegment: boolean;
  source: string | null;
  target: string | null;
  state: string | null;
  qualifier: string | null;
}

class UnitBuilder {
  readonly #element: XmlElement;
  readonly #destination: string | null;
  readonly #isTwo: boolean;
  readonly #segments: Segment[] = [];
  readonly #own = new Map<string, string>();
  readonly #notes: string[] = [];
  #problem: { reason: UnitProblemReason; message: string } | null = null;

  /**
   * @param element `unit` of XLIFF 2 or `trans-unit` of XLIFF 1.2
   * @param destination the file that it belongs to
   */
  constructor(element: XmlElement, destination: string | null) {
    this.#element = element;
    this.#destination = destination;
    this.#isTwo = element.name === 'unit';
  }

  /** Begins a segment of XLIFF 2, or the text between two of them. */
  beginSegment(isSegment: boolean, attributes: XmlElement['attributes']): void {
    this.#segments.push({
      isSegment,
      source: null,
      target: null,
      state: attributes.get('state') ?? 'initial',
      qualifier: attributes.get('subState') ?? null,
    });
  }

  take(
    role: 'source' | 'target' | 'note' | 'context',
    text: string,
    attributes: XmlElement['attributes'],
  ): void {
    if ((role === 'source' || role === 'target') && this.#current()[role] !== null) {
      this.#fail('value_invalid', `the unit has two texts as its ${role}; delete one`);
    }
    if (role === 'source') this.#current().source = text;
    else if (role === 'target') this.#takeTarget(text, attributes);
    else if (role === 'note')
      this.#takeNote(attributes.get('category') ?? attributes.get('from') ?? '', text);
    else this.#takeOwn(attributes.get('context-type') ?? '', text);
  }

  refuseInline(name: string): void {
    const message = `the text has the inline element ${JSON.stringify(name.slice(0, 40))}`;
    this.#fail('inline_element_unsupported', message);
  }

  finish(): ReadResult {
    const target = targetOf(this.#segments, this.#isTwo);
    if (target === undefined) this.#fail('segments_unsupported', 'some segments of the unit have no target');
    const unitId = this.#element.attributes.get('id') ?? null;
    const locator = this.#locator();
    if (unitId === null && locator === null) {
      this.#fail('identity_missing', 'the unit has neither an id nor a place');
    }
    if (this.#segments.every(({ source }) => source === null)) {
      this.#fail('value_invalid', 'the unit has no source');
    }
    const revision = this.#revision();
    const { line } = this.#element;
    if (this.#problem !== null) return { kind: 'problem', line, unit_id: unitId, ...this.#problem };
    return {
      kind: 'unit',
      line,
      unit: {
        unit_id: unitId,
        locator,
        source_text: this.#segments.map(({ source }) => source ?? '').join(''),
        target_text: target ?? null,
        note: this.#notes.length === 0 ? null : this.#notes.join('\n'),
        context: readContext(this.#own),
        previous_source: this.#own.get(OWN.previousSource) ?? null,
        previous_target: this.#own.get(OWN.previousTarget) ?? null,
        revision,
      },
    };
  }

  #locator(): UnitLocator | null {
    const fieldPath = this.#element.attributes.get(this.#isTwo ? 'name' : 'resname');
    if (this.#destination === null || fieldPath === undefined) return null;
    return {
      destination: this.#destination,
      archive_entry: this.#own.get(OWN.archiveEntry) ?? null,
      path_id: this.#own.get(OWN.pathId) ?? null,
      field_path: fieldPath,
    };
  }

  #revision(): number | null {
    const text = this.#own.get(OWN.revision);
    if (text === undefined) return null;
    const revision = revisionOf(text);
    if (revision === undefined) this.#fail('value_invalid', 'the revision of the unit is not a whole number');
    return revision ?? null;
  }

  #current(): Segment {
    const last = this.#segments.at(-1);
    if (last !== undefined) return last;
    const first = { isSegment: true, source: null, target: null, state: null, qualifier: null };
    this.#segments.push(first);
    return first;
  }

  #takeTarget(text: string, attributes: XmlElement['attributes']): void {
    const segment = this.#current();
    if (attributes.has('order')) {
      this.#fail('segments_unsupported', 'the segments of the unit are in another order');
    }
    segment.target = text;
    if (this.#isTwo) return;
    segment.state = attributes.get('state') ?? null;
    segment.qualifier = attributes.get('state-qualifier') ?? null;
  }

  #takeNote(name: string, text: string): void {
    if (name.startsWith(OWN_PREFIX)) this.#takeOwn(name, text);
    else if (text !== '') this.#notes.push(text);
  }

  #takeOwn(name: string, text: string): void {
    const value = readOwnValue({ name, text });
    if (value !== null) this.#own.set(value.name, value.text);
  }

  #fail(reason: UnitProblemReason, message: string): void {
    this.#problem ??= { reason, message };
  }
}

/** @returns `null` without a target, `undefined` when only some segments have one */
function targetOf(segments: readonly Segment[], isTwo: boolean): string | null | undefined {
  const isOpen = (segment: Segment): boolean => segment.target === null || isCopied(segment, isTwo);
  if (segments.every(isOpen)) return null;
  if (segments.some((segment) => segment.isSegment && isOpen(segment))) return undefined;
  const text = segments.map(({ source, target }) => target ?? source ?? '').join('');
  // Tools write an empty target where there is none.
  return text === '' && segments.every(({ state }) => isInitialState(state)) ? null : text;
}

function isCopied({ source, target, state, qualifier }: Segment, isTwo: boolean): boolean {
  return source === target && isCopiedState(isTwo, state, qualifier);
}
