/**
 * The form in which terms are compared: compatibility characters become plain ones (NFKC) and capitals become small. The two small
 * sigmas are one letter here, so that the form of a part does not depend on what follows it.
 */
export function foldedForm(text: string): string {
  return text.normalize('NFKC').toLowerCase().replaceAll('ς', 'σ');
}
