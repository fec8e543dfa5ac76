import { SaxesParser } from 'saxes';
import { FormatError } from '../format-error.ts';
import { byteOffsets, type DecodedText } from '../text/decode-text.ts';
import { reportText, type ReadTarget } from '../text/report-text.ts';
import type { ReadLimits } from '../value-visitor.ts';

interface XmlText {
  readonly name: string;
  readonly value: string;
  readonly start: number;
  readonly end: number;
}

/** An element of a document. Positions are UTF-16 code units of the text. */
interface XmlElement {
  readonly name: string;
  attributes: readonly XmlText[];
  readonly children: XmlElement[];
  /** The characters outside of children, with their references resolved. */
  text: string;
  /** Where the content is; both 0 for an element without an end tag. */
  start: number;
  end: number;
}

/**
 * Reads a document of XML 1.0. An element is an object in the array of its parent's children and is named as in XPath,
 * `string[3]`; its fields are its attributes (`@name`) and `text()`, the content of an element without children. An element
 * with text and other elements in it is one text, with its markup as it is written.
 *
 * Only the five entities of XML and numbers are resolved. Nothing is reported of a document with an error.
 *
 * @throws FormatError `xml_invalid`, `nesting_too_deep`, `container_limit_exceeded`
 */
export function readXml(decoded: DecodedText, target: ReadTarget): void {
  const root = parseDocument(decoded, target.limits);
  const { visitor } = target;
  visitor.field('');
  visitor.beginArray();
  if (root !== null) reportElement(decoded.text, root, `${root.name}[1]`, '', target);
  visitor.endArray();
}

function reportElement(
  text: string,
  element: XmlElement,
  name: string,
  parent: string,
  target: ReadTarget,
): void {
  const { visitor } = target;
  const path = `${parent}/${name}`;
  visitor.element(name);
  visitor.beginObject();
  for (const attribute of element.attributes) {
    visitor.field(attribute.name);
    reportText(target, attribute, () => `${path}/${attribute.name}`);
  }
  const content = contentOf(text, element);
  if (content !== null) {
    visitor.field('text()');
    reportText(target, content, () => `${path}/text()`);
  } else if (element.children.length > 0) {
    const counts = new Map<string, number>();
    visitor.field('');
    visitor.beginArray();
    for (const child of element.children) {
      const count = (counts.get(child.name) ?? 0) + 1;
      counts.set(child.name, count);
      reportElement(text, child, `${child.name}[${count}]`, path, target);
    }
    visitor.endArray();
  }
  visitor.endObject();
}

const CDATA = { begin: '<![CDATA[', end: ']]>' };

/** The text of an element; `null` where its children have the texts, and for an element without an end tag. */
function contentOf(text: string, { text: value, start, end }: XmlElement): XmlText | null {
  if (end === 0) return null;
  const raw = text.slice(start, end);
  if (!raw.includes('<')) return { name: 'text()', value, start, end };
  const trimmed = raw.trim();
  if (trimmed.startsWith(CDATA.begin) && trimmed.indexOf(CDATA.end) === trimmed.length - CDATA.end.length) {
    const from = start + raw.indexOf(CDATA.begin) + CDATA.begin.length;
    const to = start + raw.lastIndexOf(CDATA.end);
    return { name: 'text()', value: text.slice(from, to), start: from, end: to };
  }
  if (value.trim() === '') return null;
  return { name: 'text()', value: raw, start, end };
}

/** Takes the parts of a document, and makes its elements. */
class DocumentParser extends SaxesParser<{ xmlns: false; position: true }> {
  readonly #decoded: DecodedText;
  readonly #limits: ReadLimits;
  readonly #open: XmlElement[] = [];
  #attributes: XmlText[] = [];
  #count = 0;
  root: XmlElement | null = null;

  constructor(decoded: DecodedText, limits: ReadLimits) {
    super({ xmlns: false, position: true });
    this.#decoded = decoded;
    this.#limits = limits;
    this.on('attribute', ({ name, value }) => {
      this.#attribute(name, value);
    });
    this.on('opentag', ({ name, isSelfClosing }) => {
      this.#begin(name, isSelfClosing);
    });
    this.on('text', (text) => {
      const element = this.#open.at(-1);
      if (element !== undefined) element.text += text;
    });
    this.on('closetag', ({ isSelfClosing }) => {
      const element = this.#open.pop();
      if (element === undefined || isSelfClosing) return;
      element.end = this.#decoded.text.lastIndexOf('</', this.position - 1);
    });
  }

  override fail(message: string): never {
    const reason = message.replace(/^\d+:\d+: /, '');
    const place = `in line ${this.line}, column ${this.column}`;
    throw new FormatError('xml_invalid', `${reason} ${place}`, this.#offset());
  }

  #attribute(name: string, value: string): void {
    this.#add();
    const { text } = this.#decoded;
    const end = this.position - 1;
    // The value has no quote of its own kind.
    const start = text.lastIndexOf(text.charAt(end), end - 1) + 1;
    this.#attributes.push({ name: `@${name}`, value, start, end });
  }

  #begin(name: string, isSelfClosing: boolean): void {
    this.#add();
    const start = isSelfClosing ? 0 : this.position;
    const element = { name, attributes: this.#attributes, children: [], text: '', start, end: 0 };
    this.#attributes = [];
    const parent = this.#open.at(-1);
    if (parent === undefined) this.root = element;
    else parent.children.push(element);
    this.#open.push(element);
    if (this.#open.length > this.#limits.depth) {
      const message = `more than ${this.#limits.depth} elements are inside of each other`;
      throw new FormatError('nesting_too_deep', message, this.#offset());
    }
  }

  #add(): void {
    this.#count += 1;
    if (this.#count <= this.#limits.elements) return;
    const message = `the document has more than ${this.#limits.elements} elements and attributes`;
    throw new FormatError('container_limit_exceeded', message, this.#offset());
  }

  #offset(): number {
    return byteOffsets(this.#decoded)(this.position);
  }
}

function parseDocument(decoded: DecodedText, limits: ReadLimits): XmlElement | null {
  const parser = new DocumentParser(decoded, limits);
  parser.write(decoded.text).close();
  return parser.root;
}

/** Whether characters can stand inside of an element. */
export function isWellFormedContent(characters: string): boolean {
  const text = `<x>${characters}</x>`;
  const parser = new SaxesParser({ xmlns: false });
  let isWell = true;
  parser.on('error', () => {
    isWell = false;
  });
  // A second root would be an error, so the characters cannot end the first one.
  parser.write(text).close();
  return isWell;
}
