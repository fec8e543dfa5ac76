import { FormatError } from '../format-error.ts';
import { byteOffsets, type DecodedText } from './decode-text.ts';
import { reportText, type ReadTarget } from './report-text.ts';

/**
 * Reads plain text: the field `line`, an array of one text for each line, without its end. An empty line is an empty
 * text, so that an element's index is the number of its line from 0. An end of line at the end of the file does not
 * begin another line.
 *
 * @throws FormatError `container_limit_exceeded`
 */
export function readLines(decoded: DecodedText, target: ReadTarget): void {
  const { text } = decoded;
  const { visitor, limits } = target;
  visitor.field('line');
  visitor.beginArray();
  const lineEnds = /\r\n|\n|\r/g;
  let index = 0;
  for (let start = 0; start < text.length; index += 1) {
    if (index === limits.elements) {
      const message = `the text has more than ${limits.elements} lines`;
      throw new FormatError('container_limit_exceeded', message, byteOffsets(decoded)(start));
    }
    const match = lineEnds.exec(text);
    const end = match?.index ?? text.length;
    reportText(target, { value: text.slice(start, end), start, end }, () => `line[${index}]`);
    start = match === null ? text.length : lineEnds.lastIndex;
  }
  visitor.endArray();
}
