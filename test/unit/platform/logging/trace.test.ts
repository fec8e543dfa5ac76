import { expect, it } from 'vitest';
import {
  currentTrace,
  receiveTrace,
  traceFields,
  traceHeaders,
  withTrace,
} from '../../../../src/platform/logging/trace.ts';

const TRACE_ID = '4bf92f3577b34da6a3ce929d0e0e4736';
const PARENT = `00-${TRACE_ID}-00f067aa0ba902b7-01`;
const SPAN = 'b7ad6b7169203331';

const receive = (traceparent?: string, tracestate?: string): ReturnType<typeof receiveTrace> =>
  receiveTrace({ traceparent, tracestate }, () => SPAN);

it.each([
  [PARENT, '01'],
  [PARENT.replace(/01$/, '00'), '00'],
  // Unknown flags are cleared, and unknown parts of a later version are ignored.
  [PARENT.replace(/01$/, 'ff'), '03'],
  [PARENT.replace(/^00/, 'cc'), '01'],
  [`${PARENT.replace(/^00/, 'cc')}-further`, '01'],
])('the trace of %s continues with a span of its own', (traceparent, flags) => {
  const trace = receive(traceparent, 'vendor=1');
  expect(trace).toEqual({ traceId: TRACE_ID, spanId: SPAN, flags, state: 'vendor=1' });
  withTrace(trace, () => {
    expect(traceHeaders()).toEqual({
      traceparent: `00-${TRACE_ID}-${SPAN}-${flags}`,
      tracestate: 'vendor=1',
    });
    expect(traceFields()).toEqual({ trace_id: TRACE_ID, span_id: SPAN });
  });
});

it.each([
  undefined,
  '',
  TRACE_ID,
  `${PARENT}-further`,
  `${PARENT}, ${PARENT}`,
  PARENT.toUpperCase(),
  PARENT.replace(/^00/, 'ff'),
  PARENT.replace(TRACE_ID, '0'.repeat(32)),
  PARENT.replace('00f067aa0ba902b7', '0'.repeat(16)),
  ` ${PARENT}`,
  PARENT.slice(1),
])('%j begins no trace', (traceparent) => {
  expect(receive(traceparent, 'vendor=1')).toBeNull();
});

it('a state that is too long is dropped', () => {
  expect(receive(PARENT, 'x'.repeat(513))?.state).toBeNull();
});

it('belongs to the work and what it waits for, and to nothing else', async () => {
  expect([currentTrace(), traceFields(), traceHeaders()]).toEqual([null, {}, {}]);
  await withTrace(receive(PARENT), async () => {
    await new Promise((resolve) => setImmediate(resolve));
    expect(currentTrace()?.traceId).toBe(TRACE_ID);
    withTrace(null, () => {
      expect(traceFields()).toEqual({});
    });
  });
  expect(currentTrace()).toBeNull();
});
