import { stdSerializers } from 'pino';

/**
 * Renders an error for a log line. An error of ours often ends with the text of its cause, which is then not repeated.
 *
 * @returns other values as they are
 */
export function errorFields(error: unknown): unknown {
  if (!(error instanceof Error)) return error;
  return { ...stdSerializers.err(error), message: messageWithCauses(error) };
}

function messageWithCauses(error: Error): string {
  let message = error.message;
  const seen = new Set<unknown>([error]);
  for (let { cause } = error; cause instanceof Error && !seen.has(cause); { cause } = cause) {
    seen.add(cause);
    if (cause.message !== '' && !message.includes(cause.message)) message = `${message}: ${cause.message}`;
  }
  return message;
}
