namespace RedKite.Net.Tests;

/// <summary>A transport that asks another one.</summary>
internal abstract class OuterTransport(Transport inner) : Transport
{
    internal override void Listen(ListeningSocket listener) => inner.Listen(listener);

    internal override void StopListening() => inner.StopListening();

    internal override void StopListening(ListeningSocket listener) => inner.StopListening(listener);

    internal override void ResumeAccepting() => inner.ResumeAccepting();

    internal override void Wait(EventLoop loop)
    {
        inner.SkipsWait = SkipsWait;
        inner.Wait(loop);
    }

    internal override void SetTimer(long microseconds) => inner.SetTimer(microseconds);

    internal override void Wake() => inner.Wake();

    internal override void Register(Connection connection) => inner.Register(connection);

    internal override void SetNoDelay(Connection connection, bool on) => inner.SetNoDelay(connection, on);

    internal override void SetKeepAlive(Connection connection, int seconds) => inner.SetKeepAlive(connection, seconds);

    internal override int Receive(Connection connection, Span<byte> buffer) => inner.Receive(connection, buffer);

    internal override int Send(Connection connection, ReadOnlySpan<byte> bytes) => inner.Send(connection, bytes);

    internal override int Send(Connection connection, OutputQueue queue) => inner.Send(connection, queue);

    internal override void SetInterest(Connection connection, bool read, bool write) => inner.SetInterest(connection, read, write);

    internal override void ShutdownSend(Connection connection) => inner.ShutdownSend(connection);

    internal override void Close(Connection connection) => inner.Close(connection);

    public override void Dispose() => inner.Dispose();
}
