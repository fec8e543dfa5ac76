import type { FileReader } from '../file-codec.ts';
import { createXmlReader, type XmlVisitor } from './xml-reader.ts';

/** Collects the parts of a document as items. */
export interface XmlDocument<T> extends XmlVisitor {
  /** The items that are complete, once. */
  take(): T[];
}

/**
 * Makes a reader of the items of a document.
 *
 * @param create makes the collector; its parameter gives the current line from 1
 */
export function createDocumentReader<T, D extends XmlDocument<T>>(
  create: (line: () => number) => D,
): FileReader<T> & { readonly document: D } {
  const document = create(() => reader.line());
  const reader = createXmlReader(document);
  return {
    document,
    write(bytes) {
      reader.write(bytes);
      return document.take();
    },
    end() {
      reader.end();
      return document.take();
    },
  };
}
