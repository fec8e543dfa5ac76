/** Renders a number of bytes in the largest binary unit of which it has at least one, such as `6.0 GiB`. Pure. */
export function textBytes(bytes: number): string {
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];
  let [value, power] = [bytes, 0];
  while (value >= 1024 && power < units.length - 1) {
    value /= 1024;
    power += 1;
  }
  return `${power === 0 ? value : value.toFixed(1)} ${units[power]}`;
}
