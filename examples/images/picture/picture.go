// Package picture makes thumbnails of pictures, in integers: what it gives is the same on all machines, and what the
// TypeScript runner beside it gives.
package picture

import (
	"fmt"
	"hash/crc32"
	"image"
	"image/color"
	"image/draw"
	"math/bits"
)

// Scale gives a picture of a width in pixels, and of the height that keeps the proportions, rounded down but at least 1. Each
// pixel is the mean of those that it stands for, as far as they are opaque. The picture must not be empty, and the width
// be from 1 on.
func Scale(src image.Image, width int) *image.NRGBA {
	from := straight(src)
	size := from.Bounds().Size()
	to := image.NewNRGBA(image.Rect(0, 0, width, max(1, size.Y*width/size.X)))
	for y := range to.Rect.Dy() {
		for x := range width {
			to.SetNRGBA(x, y, mean(from, image.Rectangle{
				Min: image.Pt(x*size.X/width, y*size.Y/to.Rect.Dy()),
				Max: image.Pt(upTo(x, size.X, width), upTo(y, size.Y, to.Rect.Dy())),
			}))
		}
	}
	return to
}

// upTo is the end of the pixels that number n of so many stands for: at least one.
func upTo(n, from, to int) int {
	return max((n+1)*from/to, n*from/to+1)
}

// straight is a picture with its alpha apart, from the point 0, 0.
func straight(src image.Image) *image.NRGBA {
	if p, ok := src.(*image.NRGBA); ok && p.Rect.Min == (image.Point{}) {
		return p
	}
	to := image.NewNRGBA(image.Rectangle{Max: src.Bounds().Size()})
	draw.Draw(to, to.Rect, src, src.Bounds().Min, draw.Src)
	return to
}

// mean is the mean of the pixels of a part; a pixel counts as much as it is opaque.
func mean(p *image.NRGBA, part image.Rectangle) color.NRGBA {
	var r, g, b, a int
	for y := part.Min.Y; y < part.Max.Y; y++ {
		for x := part.Min.X; x < part.Max.X; x++ {
			c := p.NRGBAAt(x, y)
			alpha := int(c.A)
			r, g, b, a = r+int(c.R)*alpha, g+int(c.G)*alpha, b+int(c.B)*alpha, a+alpha
		}
	}
	if a == 0 {
		return color.NRGBA{}
	}
	count := part.Dx() * part.Dy()
	return color.NRGBA{R: rounded(r, a), G: rounded(g, a), B: rounded(b, a), A: rounded(a, count)}
}

func rounded(sum, count int) uint8 {
	return uint8((sum + count/2) / count)
}

// Sum tells pictures apart by their pixels, however they are compressed: CRC-32 of red, green, blue and alpha of each.
func Sum(p *image.NRGBA) string {
	return fmt.Sprintf("%08x", crc32.ChecksumIEEE(p.Pix))
}

// Draw draws a picture of a size in pixels: another one for each number. Those of even numbers are opaque.
func Draw(number, width, height int) *image.NRGBA {
	p := image.NewNRGBA(image.Rect(0, 0, width, height))
	seed := bits.Reverse16(uint16(number))
	fade := max(1, number%2*64)
	for y := range height {
		for x := range width {
			p.SetNRGBA(x, y, color.NRGBA{
				R: uint8(x*x/9 ^ y*3 + int(seed>>8)),
				G: uint8((x + number) & (y + int(seed))),
				B: uint8((x*y + number*7) >> 3),
				A: uint8(255 - (x+y+number)%fade),
			})
		}
	}
	return p
}
