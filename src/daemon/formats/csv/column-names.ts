/**
 * Makes the names of columns unique and not empty. A name keeps its form where it appears first. A name that appears
 * again is numbered: `text`, `text_2`, `text_3`. A column without a name has its position from 0 as its name. A name
 * that another column has in the header is never given to a column; the number grows until it is free.
 */
export function columnNames(header: readonly string[]): string[] {
  const taken = new Set(header);
  const seen = new Set<string>();
  const lastNumber = new Map<string, number>();
  return header.map((name, position) => {
    if (name !== '' && !seen.has(name)) {
      seen.add(name);
      return name;
    }
    const base = name === '' ? String(position) : name;
    let number = lastNumber.get(base) ?? (name === '' ? 0 : 1);
    let candidate = base;
    for (; taken.has(candidate); candidate = `${base}_${number}`) number += 1;
    lastNumber.set(base, number);
    taken.add(candidate);
    return candidate;
  });
}
