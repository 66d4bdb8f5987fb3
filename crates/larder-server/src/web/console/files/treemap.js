// A squarified treemap: rectangles whose areas are the values, as close to squares as can be.

/** The worst ratio of the sides in a row of areas along a side. */
function worst(areas, side) {
  const sum = areas.reduce((a, b) => a + b, 0);
  const thickness = sum / side;
  return Math.max(...areas.map((area) => Math.max(thickness / (area / thickness), area / thickness / thickness)));
}

/**
 * Lays out items, each with a `value` above 0 and the largest first, in a rectangle. Returns `{item, x, y, w, h}` for each.
 * Rows are filled along the shorter side for as long as that makes none of their rectangles longer.
 */
export function squarify(items, x, y, w, h) {
  const total = items.reduce((sum, item) => sum + item.value, 0);
  const placed = [];
  let at = 0;
  let left = total;
  while (at < items.length && w > 0 && h > 0 && left > 0) {
    const scale = (w * h) / left;
    const side = Math.min(w, h);
    const row = [];
    while (at + row.length < items.length) {
      const next = items[at + row.length].value * scale;
      if (row.length > 0 && worst([...row, next], side) > worst(row, side)) break;
      row.push(next);
    }
    const thickness = row.reduce((a, b) => a + b, 0) / side;
    let along = 0;
    for (const area of row) {
      const length = area / thickness;
      const item = items[at];
      placed.push(w >= h ? { item, x, y: y + along, w: thickness, h: length } : { item, x: x + along, y, w: length, h: thickness });
      along += length;
      left -= item.value;
      at += 1;
    }
    if (w >= h) {
      x += thickness;
      w -= thickness;
    } else {
      y += thickness;
      h -= thickness;
    }
  }
  return placed;
}
