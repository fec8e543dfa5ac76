/** A release cannot be exported, or a bundle cannot be used; the message says what to do. */
export class BundleError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'BundleError';
  }
}
