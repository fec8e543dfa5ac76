import type { LanguagePair } from '../../../domain/glossary/term.ts';
import { ExchangeFileError, type ExchangeFileReason } from '../../../contract/formats/exchange-file-error.ts';
import { MAX_TEXT_CHARACTERS } from '../../../contract/formats/text-limit.ts';
import { createDocumentReader, type XmlDocument } from '../../xml/document-reader.ts';
import type { XmlElement } from '../../xml/xml-reader.ts';
import type { ReadTermResult } from '../../../contract/formats/glossary/read-term.ts';
import type { FileReader } from '../../file-codec.ts';
import { TbxEntry } from './tbx-entry.ts';
import { TBX_MODULES, TBX_NAMESPACES } from './tbx-names.ts';

const ENTRIES = new Set(['termEntry', 'conceptEntry']);
const LANGUAGES = new Set(['langSet', 'langSec']);
const TERMS = new Set(['tig', 'ntig', 'termSec']);
/** Elements that only group others, or whose contents lead to entries. */
const GROUPS = new Set(['text', 'body', 'termGrp', 'adminGrp', 'descripGrp', 'termNoteGrp', 'transacGrp']);
/** Elements whose data category is in their attribute `type`. */
const TYPED = new Set(['descrip', 'admin', 'termNote']);

/**
 * Makes a reader of TBX of version 2 (`martif`) and 3 (`tbx`), in both of its styles, for one pair of languages.
 * Data categories other than those of terms are left out.
 */
export function createTbxReader(pair: LanguagePair): FileReader<ReadTermResult> {
  return createDocumentReader<ReadTermResult, TbxDocument>((line) => new TbxDocument(pair, line));
}

interface OpenText {
  /** `term`, or the data category. */
  readonly type: string;
  depth: number;
  text: string;
}

class TbxDocument implements XmlDocument<ReadTermResult> {
  readonly #pair: LanguagePair;
  readonly #line: () => number;
  #results: ReadTermResult[] = [];
  #hasRoot = false;
  #entry: TbxEntry | null = null;
  #text: OpenText | null = null;
  /** Open elements whose contents are left out. */
  #skipped = 0;

  constructor(pair: LanguagePair, line: () => number) {
    this.#pair = pair;
    this.#line = line;
  }

  take(): ReadTermResult[] {
    const results = this.#results;
    this.#results = [];
    return results;
  }

  open(element: XmlElement): void {
    if (!this.#hasRoot) this.#openRoot(element);
    else if (this.#skipped > 0) this.#skipped += 1;
    else if (this.#text !== null) this.#text.depth += 1;
    else this.#openPart(element);
  }

  text(part: string): void {
    const text = this.#text;
    if (text === null || this.#skipped > 0) return;
    text.text += part;
    if (text.text.length <= MAX_TEXT_CHARACTERS) return;
    this.#refuse('limit_exceeded', `a text has more than ${MAX_TEXT_CHARACTERS} characters`);
  }

  close(name: string): void {
    const text = this.#text;
    if (this.#skipped > 0) this.#skipped -= 1;
    else if (text !== null && text.depth > 0) text.depth -= 1;
    else if (text !== null) {
      if (text.type === 'term') this.#entry?.setTerm(text.text);
      else this.#entry?.addValue(text.type, text.text);
      this.#text = null;
    } else if (TERMS.has(name)) this.#entry?.endTerm();
    else if (LANGUAGES.has(name)) this.#entry?.endLanguage();
    else if (ENTRIES.has(name) && this.#entry !== null) {
      this.#results.push(this.#entry.finish(this.#pair));
      this.#entry = null;
    }
  }

  #openRoot({ name, namespace }: XmlElement): void {
    if ((name !== 'martif' && name !== 'tbx') || !TBX_NAMESPACES.has(namespace)) {
      this.#refuse('structure_invalid', `the document is ${JSON.stringify(name.slice(0, 40))}, not TBX`);
    }
    this.#hasRoot = true;
  }

  #openPart({ name, namespace, attributes, line }: XmlElement): void {
    const entry = this.#entry;
    if (namespace.startsWith(TBX_MODULES)) this.#openText(name);
    else if (!TBX_NAMESPACES.has(namespace)) this.#skipped = 1;
    else if (ENTRIES.has(name)) {
      if (entry !== null) this.#refuse('structure_invalid', 'an entry is within an entry');
      this.#entry = new TbxEntry(attributes.get('id') ?? null, line);
    } else if (GROUPS.has(name)) return;
    else if (entry === null) this.#skipped = 1;
    else if (LANGUAGES.has(name)) entry.beginLanguage(attributes.get('xml:lang') ?? '');
    else if (TERMS.has(name)) entry.beginTerm();
    else if (name === 'term' || name === 'note') this.#openText(name);
    else if (TYPED.has(name)) this.#openText(attributes.get('type') ?? '');
    else this.#skipped = 1;
  }

  #openText(type: string): void {
    if (this.#entry === null) this.#skipped = 1;
    else this.#text = { type, depth: 0, text: '' };
  }

  #refuse(reason: ExchangeFileReason, message: string): never {
    throw new ExchangeFileError(reason, message, this.#line());
  }
}
