/** Cuts a long text at a number of UTF-16 code units. @returns the beginning, and whether something is missing */
export function cutText(text: string, length: number): { readonly text: string; readonly isCut: boolean } {
  if (text.length <= length) return { text, isCut: false };
  return { text: text.slice(0, length).toWellFormed(), isCut: true };
}
