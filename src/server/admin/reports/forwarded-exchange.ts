import { IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';

/** What the proxy is given instead of the client's request and response. */
export interface ForwardedExchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  /** Makes the proxy let go of the exchange; a connection whose answer is not complete is cut. */
  readonly release: () => void;
}

/**
 * Makes a request without a body that holds nothing but what is given here, so that no header, cookie, credential or
 * upgrade of a client can reach the daemon, and a response that no answer is written to: the proxy cuts the response of
 * an answer that ends too early, and the client is to get a 503 instead.
 *
 * @param path path and query, from constants and validated values
 * @param headers lower-case names
 */
export function createForwardedExchange(
  path: string,
  headers: Readonly<Record<string, string>>,
): ForwardedExchange {
  const request = new IncomingMessage(new Socket());
  request.method = 'GET';
  request.url = path;
  request.httpVersion = '1.1';
  request.httpVersionMajor = 1;
  request.httpVersionMinor = 1;
  request.headers = { ...headers };
  // Else its end counts as that of a client that broke off, which makes an error with its stack.
  request.complete = true;
  request.push(null);
  const response = new ServerResponse(request);
  return {
    request,
    response,
    release: () => {
      // It has no socket that could say so.
      response.emit('close');
    },
  };
}
