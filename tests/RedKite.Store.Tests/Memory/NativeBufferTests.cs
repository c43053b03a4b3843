using RedKite.Store.Memory;

namespace RedKite.Store.Tests.Memory;

public class NativeBufferTests
{
    [Fact]
    public void Contents_survive_growth()
    {
        Randomness.Run(random =>
        {
            using var buffer = new NativeBuffer();
            List<byte> model = [];
            for (int step = 0; step < 300; step++)
            {
                byte[] bytes = random.Bytes(random.Next(20) == 0 ? random.Next(100_000) : random.Next(100));
                if (random.Next(2) == 0)
                {
                    buffer.Write(bytes);
                }
                else
                {
                    // Reserves more than is used in the end.
                    bytes.CopyTo(buffer.Room(bytes.Length + random.Next(50)));
                    buffer.Advance(bytes.Length);
                }

                model.AddRange(bytes);
                if (random.Next(60) == 0)
                {
                    buffer.Clear();
                    model.Clear();
                }

                Assert.Equal(model.Count, buffer.Length);
                Assert.True(buffer.Written.SequenceEqual(model.ToArray()));
            }
        });
    }

    [Fact]
    public void Size_beyond_a_span_is_refused()
    {
        using var buffer = new NativeBuffer();
        buffer.Write("x"u8);
        Assert.Throws<InsufficientMemoryException>(() => buffer.Room(int.MaxValue));
        Assert.True(buffer.Written.SequenceEqual("x"u8));
    }
}
