package picture

import (
	"image"
	"image/color"
	"math"
	"testing"
)

// Each pixel is the mean of those that it stands for, whatever the sizes.
func TestScale(t *testing.T) {
	for _, size := range []struct{ width, height, to, want int }{
		{160, 120, 48, 36}, {7, 5, 3, 2}, {5, 7, 5, 7}, {3, 2, 10, 6}, {300, 1, 10, 1}, {1, 9, 1, 9},
	} {
		src := Draw(size.width, size.width, size.height)
		small := Scale(src, size.to)
		if got := small.Rect.Size(); got != image.Pt(size.to, size.want) {
			t.Errorf("%+v gives %v", size, got)
			continue
		}
		for y := range size.want {
			for x := range size.to {
				want := slowMean(src, x, y, size.to, size.want)
				if got := small.NRGBAAt(x, y); got != want {
					t.Fatalf("%+v at %d, %d is %v, want %v", size, x, y, got, want)
				}
			}
		}
	}
}

// slowMean goes through all pixels, and counts in fractions.
func slowMean(src *image.NRGBA, x, y, width, height int) color.NRGBA {
	size := src.Rect.Size()
	var count, opaque float64
	var sums [3]float64
	for py := range size.Y {
		for px := range size.X {
			if !within(px, x, size.X, width) || !within(py, y, size.Y, height) {
				continue
			}
			c := src.NRGBAAt(px, py)
			a := float64(c.A) / 255
			count, opaque = count+1, opaque+a
			for i, v := range []uint8{c.R, c.G, c.B} {
				sums[i] += float64(v) * a
			}
		}
	}
	round := func(v float64) uint8 { return uint8(math.Floor(v + 0.5 + 1e-9)) }
	return color.NRGBA{round(sums[0] / opaque), round(sums[1] / opaque), round(sums[2] / opaque), round(255 * opaque / count)}
}

// within reports whether pixel p of a line of from is one of those that pixel n of a line of to stands for.
func within(p, n, from, to int) bool {
	first, end := float64(n)*float64(from)/float64(to), float64(n+1)*float64(from)/float64(to)
	return p == int(first) || p > int(first) && p < int(math.Floor(end+1e-9))
}

// A picture of any kind and place is scaled; what is not opaque at all has no colour.
func TestScaleTakesAnyPicture(t *testing.T) {
	gray := image.NewGray(image.Rect(10, 20, 14, 24))
	gray.SetGray(10, 20, color.Gray{200})
	if got, want := Scale(gray, 2).NRGBAAt(0, 0), (color.NRGBA{50, 50, 50, 255}); got != want {
		t.Errorf("gray is %v, want %v", got, want)
	}
	if got := Scale(image.NewRGBA(image.Rect(0, 0, 4, 4)), 2); got.NRGBAAt(1, 1) != (color.NRGBA{}) {
		t.Errorf("nothing is %v", got.Pix)
	}
}

func TestPicturesAreDifferent(t *testing.T) {
	seen := map[string]int{}
	for n := range 1000 {
		sum := Sum(Draw(n, 16, 12))
		if before, twice := seen[sum]; twice {
			t.Errorf("pictures %d and %d are the same", before, n)
		}
		seen[sum] = n
	}
	if !Draw(2, 16, 12).Opaque() || Draw(3, 16, 12).Opaque() {
		t.Error("those of even numbers are opaque, others are not")
	}
}
