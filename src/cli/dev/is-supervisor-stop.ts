/**
 * Whether a line of a log says that the supervisor of the daemon stops. `slipway dev` leaves it out, because the daemon says the same
 * of itself, and both appear under one name.
 *
 * @param line one JSON line of the log
 */
export function isSupervisorStop(line: string): boolean {
  return /"level":"info".*"service":"slipway-daemon-supervisor".*(?:"code":0,"msg":"stopped"|"msg":"shutting down")/.test(
    line,
  );
}
