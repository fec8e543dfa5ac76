import { createXmlReader, type XmlVisitor } from './xml-reader.ts';

/** Collects the parts of a document as items. */
export interface XmlDocument<T> extends XmlVisitor {
  /** The items that are complete, once. */
  take(): T[];
}

/** Reads the items of a document piece by piece. */
export interface DocumentReader<T> {
  /** The items that are complete since the last call. @throws ExchangeFileError with line and reason */
  write(bytes: Uint8Array): T[];
  /** The rest. @throws ExchangeFileError when the document is cut off */
  end(): T[];
}

/**
 * Makes a reader of the items of a document.
 *
 * @param create makes the collector; its parameter gives the current line from 1
 */
export function createDocumentReader<T, D extends XmlDocument<T>>(
  create: (line: () => number) => D,
): DocumentReader<T> & { readonly document: D } {
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
